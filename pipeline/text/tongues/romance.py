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
    refusal="je suis désolé",
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
    refusal="lo siento",
)  # fmt: skip

PORTUGUESE_AND_ITALIAN = Tongue(
    name="Portuguese and Italian",
    negations=word_set("não nem sem nenhum nenhuma non senza"),
    acceptance="da",
)
