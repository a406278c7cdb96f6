"""French, Spanish, and the negations of Portuguese and Italian."""

from pipeline.text.lists import word_set
from pipeline.text.tongues.table import Tongue

_ONE_OR_TWO = r"[^\s,;()]{1,60}(?:[ ][^\s,;()]{1,60})?"

FRENCH = Tongue(
    name="French",
    negations=word_set("ne pas jamais sans aucun aucune rien"),
    months=(
        "janvier", "février|fevrier", "mars", "avril", "mai", "juin", "juillet", "août|aout",
        "septembre", "octobre", "novembre", "décembre|decembre",
    ),
    weekdays=(
        "lundis?", "mardis?", "mercredis?", "jeudis?", "vendredis?", "samedis?", "dimanches?",
    ),
    days={-2: "avant-hier", -1: "hier", 0: "aujourd'hui", 1: "demain", 2: "après-demain"},
    units={
        "s": "seconde secondes", "h": "heure heures", "d": "jour jours",
        "week": "semaine semaines", "month": "mois", "year": "an ans année années",
        "metre": "mètre mètres", "km": "kilomètre kilomètres", "mile": "milles", "ft": "pieds",
        "kg": "kilogramme kilogrammes", "g": "gramme grammes", "t": "tonne tonnes",
        "gallon": "gallon gallons", "ha": "hectare hectares",
    },
    # not "neuf", which is also new, nor what is an English word too ("cent", "six", "seize")
    number_words={
        "deux": "2", "trois": "3", "quatre": "4", "cinq": "5", "sept": "7", "huit": "8",
        "dix": "10", "onze": "11", "douze": "12", "treize": "13", "quatorze": "14",
        "quinze": "15", "dix-sept": "17", "dix-huit": "18", "dix-neuf": "19",
        "vingt": "20", "vingt-cinq": "25", "trente": "30", "quarante": "40",
        "quarante-cinq": "45", "cinquante": "50", "soixante": "60", "quatre-vingt": "80",
        "quatre-vingts": "80", "soixante-dix": "70", "quatre-vingt-dix": "90",
    },
    user="l'utilisateur",
    request="peux-tu",
    guess="peut-être",
    acceptance="oui|d'accord|parfait",
    reservation="mais|sauf",
    alternative="ou",
    past="avant|auparavant|au lieu",
    clause_break=r"\s(?:mais|et)\s",
    turns=(rf"\bau lieu de\s+(?P<old>{_ONE_OR_TWO})(?P<new>)",),
    person="je|j'ai|nous|notre|vous|votre",
    greeting="bonjour|merci",
    refusal="je suis désolé(?:e)?|je ne peux pas|en tant qu'(?:ia|intelligence artificielle)"
    "|en tant que modèle|aucune (?:information|donnée)s? (?:\\w+ )?(?:disponible|trouvée"
    "|fournie)s?"
    "|(?:il n'y a|il n'existe) (?:pas d'|aucune )informations?|pas assez d'informations?",
    elision="(?:le reste|tout le reste|les autres (?:sections|parties))(?: (?:du|de la"
    "|de l'|des) ?(?:texte"
    "|section|article|page|contenu|sections))? (?:reste(?:nt)?|demeure(?:nt)?|est"
    "|sont) (?:inchangée?s?|identiques?|les? mêmes?"
    "|tel(?:le)?s? quel(?:le)?s?|comme avant)",
    meta="dans cette (?:conversation|discussion)|l'utilisateur (?:demande (?:si|comment|pourquoi"
    "|ce|des)|a demandé (?:si|comment|pourquoi|ce|des)|a posé|pose|remercie|salue|veut savoir)"
    "|l'assistant (?:a )?(?:répond|répondu|explique|expliqué|dit|demande|demandé)"
    "|voici (?:la|le|l'|une?|les) ?(?:\\w+ )?(?:section|article|texte|paragraphe|résumé|version"
    "|liste)s? (?:mise? à jour|révisée?s?|modifiée?s?|réécrite?s?|corrigée?s?|fusionnée?s?)",
    order="(?:ignore[zr]?|oublie[zr]?|néglige[zr]?) (?:toutes |tous )?(?:les |vos |tes |ces )?"
    "(?:instructions|consignes|règles|directives)"
    "(?: (?:précédente|antérieure|ci-dessus|système)s?| données)?"
    "|(?:tu es|vous êtes) (?:maintenant|désormais) (?:un|une|le|la|en)"
    "|sans (?:le dire à|prévenir|informer) l'utilisateur",
)  # fmt: skip

SPANISH = Tongue(
    name="Spanish",
    negations=word_set("nunca sin ningún ninguna ningun jamás tampoco"),
    months=(
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
        "septiembre|setiembre", "octubre", "noviembre", "diciembre",
    ),
    weekdays=(
        "lunes", "martes", "miércoles", "jueves", "viernes", "sábados?", "domingos?",
    ),
    days={-2: "anteayer", -1: "ayer", 0: "hoy", 1: "mañana", 2: "pasado mañana"},
    units={
        "s": "segundo segundos", "min": "minuto minutos", "h": "hora horas", "d": "día días dias",
        "week": "semana semanas", "month": "mes meses", "year": "año años",
        "metre": "metros", "km": "kilómetro kilómetros", "mile": "milla millas",
        "kg": "kilogramo kilogramos", "g": "gramo gramos", "l": "litro litros",
        "gallon": "galón galones", "ha": "hectárea hectáreas", "lb": "libra libras",
    },
    # not "dos", Portuguese for "of the", nor what is an English word too ("once", "quince")
    number_words={
        "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7", "ocho": "8",
        "nueve": "9", "diez": "10", "doce": "12", "trece": "13", "catorce": "14",
        "veinte": "20", "veinticinco": "25", "treinta": "30", "cuarenta": "40",
        "cincuenta": "50", "sesenta": "60", "setenta": "70", "ochenta": "80", "noventa": "90",
    },
    user="el usuario",
    request="puedes",
    guess="quizás|tal vez",
    acceptance="sí|si|vale|de acuerdo|perfecto",
    reservation="pero",
    alternative="o bien",
    past="antes|en lugar",
    clause_break=r"\s(?:pero|porque|y)\s",
    turns=(rf"\ben lugar de\s+(?P<old>{_ONE_OR_TWO})(?P<new>)",),
    person="yo|nosotros|nuestro|nuestra",
    greeting="hola|gracias",
    refusal="lo siento|no puedo (?:ayudar|responder|proporcionar|cumplir)|como (?:ia|modelo)"
    " (?:de lenguaje|no)|no hay (?:\\w+ )?información|no se (?:encontró|encontraron|dispone de)"
    " (?:\\w+ )?(?:información|datos)",
    elision="(?:el resto|todo lo demás|las demás (?:secciones|partes))(?: (?:del|de la|de las)"
    " (?:texto|sección|artículo|página|contenido|secciones))? (?:permanecen?|quedan?"
    "|siguen?|se mantienen?|están?|es|son)"
    " (?:sin cambios|igual(?:es)?|como (?:antes|estaba)|inalterad[oa]s?)",
    meta="en esta (?:conversación|charla)|el usuario (?:pregunta|preguntó|agradece"
    "|agradeció|saluda"
    "|saludó|quiere saber|quería saber)|el asistente (?:responde|respondió|explica|explicó"
    "|dice|dijo"
    "|pregunta|preguntó|ofrece|ofreció)"
    "|(?:aquí (?:está|tiene|tienes)|esta es|este es|a continuación(?: está)?)"
    " (?:la|el|una?) (?:\\w+ )?(?:sección|artículo|texto|párrafo|resumen|versión|lista)"
    " (?:actualizad|revisad|modificad|corregid|reescrit|fusionad)[oa]",
    order="(?:ignor(?:a|e|en|ar)|olvid(?:a|e|en|ar)|haz caso omiso de) (?:todas |todos )?"
    "(?:las |los |tus |sus )?(?:instrucciones|reglas|indicaciones|órdenes|directrices)"
    " (?:anteriores|previas|precedentes|de arriba)"
    "|ahora eres (?:un|una|el|la)|sin (?:decírselo|avisar|informar) al usuario",
)  # fmt: skip

PORTUGUESE_AND_ITALIAN = Tongue(
    name="Portuguese and Italian",
    negations=word_set("não nem sem nenhum nenhuma non senza"),
    units={
        "s": "segundo segundos secondo secondi",
        "min": "minuto minutos minuti",
        "h": "hora horas ora",
        "d": "dia dias giorno giorni",
        "week": "semana semanas settimana settimane",
        "month": "mês mese mesi",
        "year": "ano anos anno anni",
        "km": "quilômetro quilômetros quilómetros chilometri",
        "kg": "quilo quilos chilo chili",
        "l": "litro litros litri",
        "gallon": "galões galloni",
    },
    number_words={
        "dois": "2",
        "duas": "2",
        "três": "3",
        "quatro": "4",
        "sete": "7",
        "oito": "8",
        "nove": "9",
        "dez": "10",
        "vinte": "20",
        "trinta": "30",
        "quarenta": "40",
        "cinquenta": "50",
        "sessenta": "60",
        "cinque": "5",
        "sette": "7",
        "otto": "8",
        "dieci": "10",
        "dodici": "12",
        "venti": "20",
        "trenta": "30",
        "quaranta": "40",
        "cinquanta": "50",
        "sessanta": "60",
    },
    user="o usuário|o utilizador|l'utente",
    acceptance="da",
    refusal="(?:sinto|lamento) muito|não posso (?:ajudar|responder|fornecer|cumprir)"
    "|como (?:ia|modelo) de linguagem|não há (?:\\w+ )?informaç(?:ão|ões)"
    "|não (?:foram encontradas?|foi encontrada) (?:\\w+ )?informaç(?:ão|ões)"
    "|mi dispiace|non (?:ci sono|sono disponibili) (?:\\w+ )?informazioni",
    elision="(?:o resto|todo o resto|as demais (?:seções|partes))(?: (?:do|da|das)"
    " (?:texto|seção|artigo|página|conteúdo|seções))?"
    " (?:permanecem?|continuam?|ficam?|segue|está|é) (?:inalterad[oa]s?|sem alterações|igual"
    "|iguais|como antes|o mesmo)"
    "|(?:il resto|tutto il resto)(?: (?:del|della|dell') ?(?:testo|sezione|articolo"
    "|pagina))?"
    " (?:rimane|resta|è) (?:invariat[oa]|uguale|immutat[oa]|come prima)",
    meta="nesta (?:conversa|sessão)|o (?:usuário|utilizador) (?:pergunta|perguntou|agradece"
    "|agradeceu"
    "|cumprimenta|cumprimentou|quer saber|queria saber)"
    "|o assistente (?:responde|respondeu|explica|explicou|diz|disse|pergunta|perguntou)"
    "|(?:aqui está|esta é|este é|segue) (?:a|o|uma?) (?:\\w+ )?(?:seção|secção|artigo|texto"
    "|parágrafo|resumo|versão|lista) (?:atualizad|revisad|modificad|corrigid|reescrit)[oa]"
    "|in questa conversazione|l'utente (?:chiede|ha chiesto)|l'assistente (?:risponde|ha risposto"
    "|spiega|ha spiegato)|ecco (?:la|il|l') ?(?:\\w+ )?(?:sezione|articolo|testo) aggiornat[oa]",
    order="(?:ignor(?:e|a|em|ar)|esqueç(?:a|am)|esquece|desconsider(?:e|a|em)) (?:todas |todos )?"
    "(?:as |os |suas |tuas )?(?:instruções|regras|ordens|diretrizes)"
    " (?:anteriores|prévias|precedentes|acima)|agora você é (?:um|uma|o|a)"
    "|sem (?:avisar|contar|informar) (?:ao|o) usuário"
    "|ignora(?:te)? (?:tutte )?le (?:istruzioni|regole) (?:precedenti|sopra)",
)
