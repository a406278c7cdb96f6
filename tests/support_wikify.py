"""Articles that have grown, in four languages, for tests of what wikify does with them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from pipeline.config import Config
from pipeline.models import Ask, Choice
from tests.support_night import NIGHT, Night, Script, run_night, write_session

MORROW = NIGHT + timedelta(days=1)
BEFORE = NIGHT - timedelta(days=2)
A_SESSION = 5  # sentences told in one session

# A section of thirteen statements; SHORT says nothing that LONG does not say.
SHORT, LONG = (
    "The Lantern retention job quietly removes stale sessions.",
    "The Lantern retention job removes stale sessions before every backup of the cluster.",
)
ENGLISH = [
    "The Lantern project of the platform team is the place in which the sessions of all shops are.",
    "The Lantern dashboard shows the queue length of each worker.",
    "The Lantern session table lives in db/sessions.sql.",
    SHORT,
    "Amina Okafor wrote the login page of Lantern.",
    "The Lantern mirror copies its tables to another region.",
    "The alarm of Lantern rings when a disk is full.",
    LONG,
    "The Lantern importer refuses files larger than 2 GB.",
    "Search in Lantern ignores accents and case.",
    "The archive of Lantern is compressed with zstd.",
    "The Lantern parser accepts comments in its settings.",
    "Every release of Lantern is signed by the build server.",
    "The Lantern documents are translated into Spanish.",
]
GERMAN_SHORT, GERMAN_LONG = (
    "Der Lantern Aufräumdienst löscht veraltete Sitzungen.",
    "Der Lantern Aufräumdienst löscht veraltete Sitzungen vor jeder Sicherung der Datenbank.",
)
GERMAN = [
    "Das Projekt Lantern ist der Dienst, in dem die Sitzungen von allen Läden der Gruppe sind.",
    "Die Lantern Übersicht zeigt die Warteschlange jedes Arbeiters.",
    "Die Tabelle der Sitzungen von Lantern liegt in db/sessions.sql.",
    GERMAN_SHORT,
    "Amina Okafor schrieb die Anmeldeseite von Lantern.",
    "Der Spiegel von Lantern kopiert seine Tabellen in eine andere Region.",
    "Der Alarm von Lantern klingelt bei voller Festplatte.",
    GERMAN_LONG,
    "Der Lantern Import verweigert Dateien über 2 GB.",
    "Die Suche in Lantern beachtet keine Akzente.",
    "Das Archiv von Lantern wird mit zstd gepackt.",
    "Der Lantern Parser erlaubt Kommentare in seinen Einstellungen.",
    "Jede Ausgabe von Lantern wird vom Bauserver signiert.",
    "Die Lantern Dokumente werden ins Spanische übersetzt.",
]
CHINESE_SHORT, CHINESE_LONG = (
    "Lantern的清理任务删除过期会话。",
    "Lantern的清理任务删除过期会话并压缩日志文件。",
)
CHINESE = [
    "Lantern项目保存所有商店的会话，Lantern的数据表、Lantern的归档和Lantern的文档都在里面。",
    "Lantern的仪表盘显示每个工作进程的队列长度。",
    "Lantern的会话表保存在db/sessions.sql里。",
    CHINESE_SHORT,
    "登录页面是Lantern最早的页面。",
    "Lantern的镜像把数据表复制到另一个地区。",
    "磁盘写满时Lantern的警报会响。",
    CHINESE_LONG,
    "Lantern的导入器拒绝超过2 GB的文件。",
    "Lantern的搜索忽略重音和大小写。",
    "Lantern的归档用zstd压缩保存。",
    "Lantern的解析器接受配置里的注释。",
    "构建服务器给Lantern的每个版本签名。",
    "Lantern的文档翻译成西班牙语。",
]
RUSSIAN_SHORT, RUSSIAN_LONG = (
    "Служба очистки Lantern удаляет устаревшие сессии.",
    "Служба очистки Lantern удаляет устаревшие сессии перед каждым копированием базы.",
)
RUSSIAN = [
    "Проект Lantern есть служба компании, в которой хранится база каждого магазина и сессии.",
    "Панель Lantern показывает длину очереди каждого процесса.",
    "Таблица сессий Lantern хранится в db/sessions.sql.",
    RUSSIAN_SHORT,
    "Страница входа Lantern появилась раньше остальных страниц.",
    "Зеркало Lantern копирует таблицы в другой регион.",
    "Сигнал Lantern звучит при заполненном диске.",
    RUSSIAN_LONG,
    "Загрузчик Lantern отклоняет файлы больше 2 GB.",
    "Поиск Lantern пропускает знаки ударения.",
    "Архив Lantern сжимается программой zstd.",
    "Анализатор Lantern принимает комментарии в настройках.",
    "Каждый выпуск Lantern подписывает сервер сборки.",
    "Документы Lantern переводятся на испанский язык.",
]
LANGUAGES = {
    "English": (ENGLISH, SHORT, LONG),
    "German": (GERMAN, GERMAN_SHORT, GERMAN_LONG),
    "Chinese": (CHINESE, CHINESE_SHORT, CHINESE_LONG),
    "Russian": (RUSSIAN, RUSSIAN_SHORT, RUSSIAN_LONG),
}

# What leads the article of its first night, and the news of the second, of which BETTER has most in
# common with what the article says then.
LEAD = ENGLISH[0]
FOUNDING = [text for text in ENGLISH[:8] if text != LONG]
BETTER, LAST = (
    "The Lantern project stores user sessions for web shops.",
    "Web shops ask Lantern for the user sessions by key.",
)
GROWTH = [BETTER, "The Lantern sessions of web shops are stored in memory first.", LAST]
FEED = "The Lantern importer feeds the Harbor project with archives."


def tell(config: Config, start: datetime, *texts: str) -> None:
    """Conversations, an hour apart, in which the user says these sentences."""
    for number in range(0, len(texts), A_SESSION):
        at = start + timedelta(hours=number // A_SESSION)
        said = [("user", text) for text in texts[number : number + A_SESSION]]
        session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{at} {said}"))
        write_session(config.vault.parent, "claude-code", session, at, said)


def script(*texts: str, **answers: Callable[[Ask], str | Choice]) -> Script:
    """A model that makes each of these sentences a claim, and answers so where it is told."""
    made = Script({f"wikify/{name}": answer for name, answer in answers.items()})
    made.claims = {text: [(text, "fact")] for text in texts}
    return made


def changelog(config: Config) -> str:
    """The text of the changelog."""
    return (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")


def article(config: Config, name: str = "Lantern project") -> str:
    """The text of an article."""
    return (config.vault / "articles" / f"{name}.md").read_text(encoding="utf-8")


def asked(night: Night, purpose: str) -> list[Ask]:
    """What the model was asked for a purpose."""
    return [one.ask for one in night.model.asked if one.purpose == f"wikify/{purpose}"]


def cited(text: str, sentence: str) -> str:
    """A sentence of a page with its marks."""
    found = re.search(re.escape(sentence) + r"(?:\[\^\d+\])+", text)
    assert found, f"{sentence!r} is not in {text}"
    return found.group()


def marks(sentence: str) -> list[str]:
    """Labels of the marks of a sentence."""
    return re.findall(r"\[\^(\d+)\]", sentence)


def same(ask: Ask) -> str:
    """A model to whom everything is the same."""
    return "same"


def grown(config: Config, texts: list[str], *later: str) -> Night:
    """A night that folds all but the later ones of these; those are told the day after."""
    early = [text for text in texts if text not in later]
    tell(config, BEFORE, *early)
    night = run_night(config, script(*early))
    tell(config, NIGHT + timedelta(hours=9), *later)
    return night


def prefer(sentence: str) -> Callable[[Ask], str]:
    """Whatever it is asked, it chooses this sentence, or else the present lead."""

    def choose(ask: Ask) -> str:
        for line in ask.prompt.splitlines():
            if line[1:].startswith(f". {sentence}"):
                return line[0]
        return ask.options[0]

    return choose


def lead_of(text: str) -> str:
    """The lead of an article, without marks."""
    found = re.search(r"(?m)^# .*\n\n(.+)$", text)
    assert found
    return re.sub(r"\[\^\d+\]", "", found.group(1))


def talk(config: Config, name: str = "Lantern project") -> str:
    """The text of a Talk page, "" when there is none."""
    path = config.vault / "Talk" / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""
