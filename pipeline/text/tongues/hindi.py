"""Hindi."""

from pipeline.text.lists import word_set
from pipeline.text.tongues.table import Tongue

HINDI = Tongue(
    name="Hindi",
    negations=word_set("नहीं नही मत बिना"),
    days={-1: "कल", 0: "आज", 1: "कल"},
    user="उपयोगकर्ता",
    guess="शायद",
    acceptance="हाँ|हां|ठीक",
    person="मैं|मेरा|मेरे|हम|हमारे|आप|आपका",
    greeting="नमस्ते|धन्यवाद",
)
