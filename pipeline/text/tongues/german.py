"""German."""

from pipeline.text.lists import word_set
from pipeline.text.tongues.table import Tongue

_SPAN = r"[^\s,;()]{1,60}(?:[ ][^\s,;()]{1,60}){0,2}"

_ONES = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
_TEENS = (
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
)
_DECADES = (
    "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig",
)  # fmt: skip


def _number_words() -> dict[str, str]:
    found = {word: str(n) for n, word in enumerate(_ONES, 2)}
    found |= {word: str(n) for n, word in enumerate(_TEENS, 10)}
    for tens, decade in enumerate(_DECADES, 2):
        found[decade] = str(10 * tens)
        found |= {
            f"{one}und{decade}": str(10 * tens + n) for n, one in enumerate(("ein", *_ONES), 1)
        }
    for n, one in enumerate(("ein", *_ONES), 1):
        found |= {f"{one}hundert": f"{n}00", f"{one}tausend": f"{n}000"}
    found |= {"hundert": "100", "tausend": "1000"}
    # Switzerland writes no ß
    return found | {word.replace("ß", "ss"): value for word, value in found.items()}


GERMAN = Tongue(
    name="German",
    stop_words=word_set(
        """
        der die das den dem des ein eine einen einem einer eines und oder aber auch als am an
        auf aus bei bis da dabei damit dann daran darauf dass denn dort durch er es sie für
        gegen hat haben hatte hatten habe hier hin ich ihm ihn ihr ihre ihrem ihren im in ins
        ist ja jede jeden jeder jedes jetzt man mehr mit nach noch nun nur ob seit sein seine
        seinem seinen seiner sich sind so soll sollen sollte über um unter vom von vor war
        waren was weil welche welcher welches wenn werden werde wie wieder wird wo wurde wurden
        zu zum zur zwischen bereits etwa rund dies diese diesem diesen dieser dieses muss
        müssen kann können darf dürfen gibt schon sehr sogar dafür statt anstatt zuvor danach
        dazu davon dadurch sodass sowie künftig zwar denen deren dessen worden doch bitte
        """
    ),
    frame=word_set(
        """
        nutzer nutzerin nutzers benutzer benutzerin benutzers anwender anwenderin anwenders
        user assistent assistenten projekt projekts team person entscheidet entschied
        entschieden entscheidung bevorzugt möchte mag will wollte wünscht plant gewählt wählte
        beschlossen beschloss nimmt nehme nehmen nahm genommen macht mache machen machte
        gemacht beträgt betragen betrug heißt befindet liegt lag nennt genannt gilt verwendet
        nutzt verwendung genutzt benötigt braucht gebraucht name namens version wert anzahl
        insgesamt
        """
    ),
    negations=word_set(
        "nicht kein keins keine keinen keinem keiner keines nie niemals nichts niemand ohne weder"
    ),
    not_negations="nicht (?:nur|zuletzt|vergessen)",
    months=(
        "januar|jänner", "februar|feber", "märz", "april", "mai", "juni", "juli", "august",
        "september", "oktober", "november", "dezember",
    ),
    weekdays=(
        "montags?", "dienstags?", "mittwochs?", "donnerstags?", "freitags?",
        "samstags?|sonnabends?", "sonntags?",
    ),
    days={
        -2: "vorgestern",
        -1: "gestern(?: abend| morgen| nachmittag)?|letzte nacht",
        0: "heute|gerade eben",
        1: "(?<!heute )(?<!gestern )morgen(?! früh um)",
        2: "übermorgen",
    },
    month_shifts={
        -1: "letzte[nms]? monat|vorige[nms]? monat",
        0: "diese[nms]? monat",
        1: "nächste[nms]? monat|kommende[nms]? monat",
    },
    year_shifts={
        -1: "letzte[ns]? jahr(?:es)?|vorige[ns]? jahr(?:es)?",
        0: "dieses jahr(?:es)?|heuer",
        1: "nächste[ns]? jahr(?:es)?|kommende[ns]? jahr(?:es)?",
    },
    units={
        "ms": "millisekunde millisekunden", "s": "sekunde sekunden sek", "min": "minute minuten",
        "h": "std stunde stunden", "d": "tag tage tagen", "week": "woche wochen",
        "month": "monat monate monaten", "year": "jahr jahre jahren", "night": "nacht nächte",
        "million": "mio millionen", "billion": "mrd milliarden milliarde",
        "eur": "euro", "chf": "franken chf", "usd": "dollar", "metre": "meter metern",
        "km": "kilometer kilometern", "g": "gramm", "kg": "kilogramm kilo", "l": "liter litern",
        "degree": "grad", "page": "seite seiten", "piece": "stück", "pound": "pfund",
        "mm": "millimeter",
        "cm": "zentimeter", "ml": "milliliter", "ha": "hektar", "t": "tonnen", "w": "watt",
        "gallon": "gallone gallonen", "mile": "meile meilen", "inch": "zoll", "ft": "fuß",
        "decade": "jahrzehnt jahrzehnte jahrzehnten",
    },
    number_words=_number_words(),
    # "die Konten der Nutzer" and "die Nutzer" are people in general
    user=r"(?:(?<!(?-i:\p{Lu})\p{L}{1,40} )der|den|dem) (?:(?:be)?nutzer|anwender)"
    "|des (?:(?:be)?nutzers|anwenders)|(?:der|die) (?:(?:be)?nutzerin|anwenderin)",
    says="schlug|schlägt|sagt|sagte|erwähnte?|empfahl|empfiehlt|wies|meinte",
    will="(?:be|ent)schlossen|entschied(?:en)?|entscheidet|bevorzugt|möchte|wünscht sich",
    asks="(?:soll|sollen|kann|können|könnte|könnten|darf|dürfen|ist|sind|hat|haben|wird|gibt)"
    " (?:ich|wir|es|das|man|sie)|(?:was|wie|wo|wann|warum|wieso|welche[rs]?|wer) (?:ist|sind"
    "|soll|kann)",
    request="bitte|kannst du|könntest du|können sie|könnten sie|mach(?:e)?",
    guess="vielleicht|eventuell|möglicherweise|womöglich|wahrscheinlich|könnte[nst]*|würde[nst]*"
    "|überlege|unsicher|falls (?:sie|du|wir)",
    advice="ich (?:schlage|empfehle|rate|würde)|sie (?:sollten|könnten)|du (?:solltest|könntest)"
    "|sollten? (?:sie|wir|man)|empfehlenswert|soll ich|denken sie|am besten",
    acceptance="ja|jawohl|genau|einverstanden|passt|gern|gerne|in ordnung|okay"
    "|mach(?:en)? (?:das|wir|so)"
    "|so machen wir(?:'s| es)|klingt gut|super|perfekt|gut|erledigt|habe ich",
    reservation="aber|jedoch|stattdessen|nur wenn|lieber|doch nicht",
    alternative="oder",
    now="jetzt|nun|inzwischen|mittlerweile|nunmehr|künftig",
    past="früher|zuvor|bisher|vorher|statt|anstatt|ehemals|ursprünglich|von .+ auf|ersetzt"
    "|war|hatte"
    "|brach|lag|nicht mehr",
    lets_go="vermeid\\w*|abgeschaltet|entfern\\w*|verzicht\\w*|abgelehnt|lehnt .* ab|statt|anstatt"
    "|nicht mehr|lässt .* weg|gescheitert|schlägt fehl|schlug fehl|gegenüber|lieber .* als",
    turns=(
        rf"\b(?:statt|anstatt|anstelle von)\s+(?P<old>{_SPAN})(?P<new>)",
        rf"\bvon\s+(?P<old>{_SPAN}?)\s+(?:auf|zu|nach)\s+(?P<new>{_SPAN})",
        rf"(?P<old>{_SPAN})\s+(?:wurde|wird|ist)\s+durch\s+(?P<new>{_SPAN})\s+(?:ersetzt|abgelöst)",
        rf"\bnicht\s+(?P<old>{_SPAN}?),?\s+sondern\s+(?P<new>{_SPAN})",
        rf"(?P<new>{_SPAN})\s+gegenüber\s+(?P<old>{_SPAN})",
        rf"\blieber\s+(?P<new>{_SPAN}?)\s+als\s+(?P<old>{_SPAN})",
        rf"\bnicht\s+mehr\s+(?P<old>{_SPAN})(?P<new>)",
    ),
    person="ich|mich|mir|mein|meine[mnrs]?|wir|uns|unser|unsere[mnrs]?|du|dich|dir|dein"
    "|deine[mnrs]?"
    "|euch|euer|eure[mnrs]?",
    greeting="hallo|guten (?:morgen|tag|abend)|danke(?: schön)?|vielen dank|gern geschehen|gerne?"
    "|super|okay|alles klar|verstanden|natürlich|klar|bitte sehr|glückwunsch|moin|servus|erledigt",
    refusal="es tut mir leid|tut mir leid|ich kann (?:nicht|leider)|als (?:ki|sprachmodell"
    "|ki-modell)"
    "|leider kann ich|keine (?:weiteren )?(?:informationen|angaben|hinweise)"
    " (?:dazu |darüber |hierzu )?(?:vorhanden|verfügbar|gefunden|enthalten|vor|bekannt)"
    "|(?:dazu|hierzu|darüber) (?:gibt es|liegen|finden sich|stehen)"
    " (?:(?:leider|uns|mir) )?keine (?:informationen|angaben)"
    "|nicht genügend (?:informationen|kontext)",
    elision="(?:der rest|alles (?:andere|übrige|weitere)|(?:der|das) (?:übrige|restliche)"
    " (?:text|inhalt|abschnitt|artikel)|die übrigen (?:abschnitte|absätze|sätze))"
    "(?: (?:des|der) (?:textes|artikels|abschnitts|seite|inhalts|liste))? (?:bleib(?:t|en)"
    "|ist|sind)"
    " (?:unverändert|gleich|unberührt|wie (?:zuvor|bisher|gehabt|oben))"
    "|(?:restlicher|übriger) (?:text|inhalt) (?:unverändert|ausgelassen|gekürzt|wie oben)",
    meta="in (?:diesem|dem) (?:gespräch|chat|dialog)|(?:das|dieses) (?:gespräch|transkript)"
    "|der (?:be)?nutzer (?:fragt|fragte|erkundigt|bedankt|begrüßt|grüßt)"
    "|(?:be)?nutzer (?:möchte|wollte|will) wissen"
    "|der assistent (?:antwortete?|sagte?|erklärte?|erläuterte?|fragte?|hilft|bietet"
    "|bot|beantwortete?)"
    "|(?:hier (?:ist|sind|folgt|kommt)|(?:nachfolgend|unten) (?:ist|steht|folgt)|anbei)"
    " (?:der|die|das|ein|eine) (?:\\w+ )?(?:aktualisierte|überarbeitete|neue|zusammengeführte"
    "|umgeschriebene|korrigierte|fertige)[nrs]?"
    " (?:\\w+ )?(?:abschnitt|artikel|text|absatz|zusammenfassung|fassung|version|liste|sätze?)"
    "|(?:dieser|der) (?:abschnitt|artikel|text) wurde (?:aktualisiert|überarbeitet"
    "|umgeschrieben)",
    order="(?:ignorier\\w*|missacht\\w*|vergiss|vergesst|vergessen sie|übergeh\\w*)"
    " (?:sie )?(?:bitte )?(?:(?:alle|sämtliche|die|deine|ihre|jegliche) )*"
    "(?:vorherigen|vorigen|bisherigen|obigen|vorangegangenen|vorhergehenden|früheren)"
    " (?:system)?(?:an)?(?:weisungen|instruktionen|vorgaben|regeln|befehle)"
    "|du bist (?:jetzt|nun|ab sofort) (?:ein|eine|der|die|im)"
    "|(?:verrate|zeige|gib) (?:mir )?(?:deinen|den) (?:system-?)?prompt"
    "|ohne (?:es )?dem (?:be)?nutzer (?:etwas |davon )?(?:zu sagen|zu erzählen|mitzuteilen)",
)  # fmt: skip
