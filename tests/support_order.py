"""One story told in six languages: what is said each day, and what of it is current in the end."""

from __future__ import annotations

from dataclasses import dataclass

CONVS = [f"a000000{day}" for day in range(1, 8)]  # a conversation a day


@dataclass(frozen=True)
class Language:
    """What is said in one language: subject and value of each sentence."""

    chain: tuple[str, str, str, str]
    place: tuple[str, str]
    same: str
    files: str
    archives: str
    both: str
    cause: tuple[str, str]
    word: tuple[str, str]

    @property
    def told(self) -> dict[str, list[str]]:
        """What each conversation says, by the conversation; one a day."""
        days = (
            [self.chain[0], self.place[0]],
            [self.chain[1], self.place[1], self.same],
            [self.place[0], self.files],
            [self.chain[2], self.archives, self.cause[0]],
            [self.both, self.word[0]],
            [self.chain[3], self.same, self.cause[1]],
            [self.word[1]],
        )
        return dict(zip(CONVS, days, strict=True))

    @property
    def current(self) -> dict[str, set[str]]:
        """What stands in the end, and the conversations it rests on."""
        return {
            self.chain[3]: {"a0000006"},
            self.place[0]: {"a0000001", "a0000003"},
            self.same: {"a0000002", "a0000006"},
            self.both: {"a0000005"},
            self.cause[0]: {"a0000004"},
            self.cause[1]: {"a0000006"},
            self.word[1]: {"a0000007"},
        }

    @property
    def past(self) -> dict[str, str]:
        """What is History in the end, and its date."""
        return {
            self.chain[0]: "2026-11-01",
            self.chain[1]: "2026-11-02",
            self.chain[2]: "2026-11-04",
            self.place[1]: "2026-11-02",
            self.files: "2026-11-03",
            self.archives: "2026-11-04",
            self.word[0]: "2026-11-05",
        }

    def subjects(self, text: str) -> frozenset[str]:
        """What a sentence is about."""
        if text == self.both:
            return frozenset({"files", "archives"})
        for name in ("chain", "place", "cause", "word"):
            if text in getattr(self, name):
                return frozenset({name})
        return frozenset({{self.files: "files", self.archives: "archives"}.get(text, text)})

    def relation(self, old: str, new: str) -> str:
        """As a good model would have it: what speaks of all of another's matter updates it."""
        if old == new:
            return "same"
        if self.subjects(old) == {"cause"} == self.subjects(new):
            return "contradicts"
        return "updates" if self.subjects(old) <= self.subjects(new) else "unrelated"


ENGLISH = Language(
    chain=(
        "The Lantern retention job keeps sessions for 45 days.",
        "The Lantern retention job keeps sessions for 30 days.",
        "The Lantern retention job keeps sessions for 60 days.",
        "The Lantern retention job keeps sessions for 90 days.",
    ),
    place=(
        "The Lantern session table lives in db/sessions.sql.",
        "The Lantern session table lives in db/store.sql.",
    ),
    same="The Lantern dashboard shows the queue length of each worker.",
    files="The Lantern importer reads files in blocks of 64 MB.",
    archives="The Lantern importer reads archives in blocks of 16 MB.",
    both="The Lantern importer reads files and archives in blocks of 32 MB.",
    cause=(
        "The Lantern login error comes from the proxy.",
        "The Lantern login error does not come from the proxy.",
    ),
    word=(
        "The Lantern project stores the accounts of all its customers in postgres.",
        "The Lantern project stores the accounts of all its customers in sqlite.",
    ),
)
GERMAN = Language(
    chain=(
        "Der Aufräumdienst von Lantern behält alte Sitzungen 45 Tage lang.",
        "Der Aufräumdienst von Lantern behält alte Sitzungen 30 Tage lang.",
        "Der Aufräumdienst von Lantern behält alte Sitzungen 60 Tage lang.",
        "Der Aufräumdienst von Lantern behält alte Sitzungen 90 Tage lang.",
    ),
    place=(
        "Die Tabelle der Sitzungen liegt bei Lantern in db/sessions.sql.",
        "Die Tabelle der Sitzungen liegt bei Lantern in db/store.sql.",
    ),
    same="Die Übersicht von Lantern zeigt die Länge der Warteschlange jedes Arbeiters.",
    files="Der Import von Lantern liest Dateien in Blöcken von 64 MB ein.",
    archives="Der Import von Lantern liest Archive in Blöcken von 16 MB ein.",
    both="Der Import von Lantern liest Dateien und Archive in Blöcken von 32 MB ein.",
    cause=(
        "Der Fehler beim Anmelden kommt bei Lantern vom Proxy.",
        "Der Fehler beim Anmelden kommt bei Lantern nicht vom Proxy.",
    ),
    word=(
        "Der Rechner mit den Konten der Kunden von Lantern steht in Bremen.",
        "Der Rechner mit den Konten der Kunden von Lantern steht in Leipzig.",
    ),
)
JAPANESE = Language(
    chain=(
        "灯台計画の掃除処理は古いセッションを45日間保存する。",
        "灯台計画の掃除処理は古いセッションを30日間保存する。",
        "灯台計画の掃除処理は古いセッションを60日間保存する。",
        "灯台計画の掃除処理は古いセッションを90日間保存する。",
    ),
    place=(
        "灯台計画のセッション表は db/sessions.sql に置かれている。",
        "灯台計画のセッション表は db/store.sql に置かれている。",
    ),
    same="灯台計画の一覧画面は各作業者の待ち行列の長さを表示する。",
    files="灯台計画の取り込み処理は文書を64MBずつ読み込む。",
    archives="灯台計画の取り込み処理は書庫を16MBずつ読み込む。",
    both="灯台計画の取り込み処理は文書と書庫を32MBずつ読み込む。",
    cause=(
        "灯台計画の接続の不具合は代理サーバーから起きる。",
        "灯台計画の接続の不具合は代理サーバーから起きない。",
    ),
    word=(
        "灯台計画の顧客の登録情報を持つ計算機は東京にある。",
        "灯台計画の顧客の登録情報を持つ計算機は大阪にある。",
    ),
)
CHINESE = Language(
    chain=(
        "灯塔项目的清理任务把旧会话保存45天。",
        "灯塔项目的清理任务把旧会话保存30天。",
        "灯塔项目的清理任务把旧会话保存60天。",
        "灯塔项目的清理任务把旧会话保存90天。",
    ),
    place=(
        "灯塔项目的会话表放在 db/sessions.sql 里。",
        "灯塔项目的会话表放在 db/store.sql 里。",
    ),
    same="灯塔项目的面板显示每个工作进程的队列长度。",
    files="灯塔项目的导入程序每次读取64MB的文件数据。",
    archives="灯塔项目的导入程序每次读取16MB的归档数据。",
    both="灯塔项目的导入程序每次读取32MB的文件和归档数据。",
    cause=(
        "灯塔项目的登录错误来自代理服务器。",
        "灯塔项目的登录错误不来自代理服务器。",
    ),
    word=(
        "灯塔项目存放所有客户账号的服务器在北京机房。",
        "灯塔项目存放所有客户账号的服务器在上海机房。",
    ),
)
ARABIC = Language(
    chain=(
        "تحتفظ مهمة التنظيف في مشروع المنارة بالجلسات القديمة لمدة 45 يوما.",
        "تحتفظ مهمة التنظيف في مشروع المنارة بالجلسات القديمة لمدة 30 يوما.",
        "تحتفظ مهمة التنظيف في مشروع المنارة بالجلسات القديمة لمدة 60 يوما.",
        "تحتفظ مهمة التنظيف في مشروع المنارة بالجلسات القديمة لمدة 90 يوما.",
    ),
    place=(
        "يوجد جدول الجلسات في مشروع المنارة في الملف db/sessions.sql.",
        "يوجد جدول الجلسات في مشروع المنارة في الملف db/store.sql.",
    ),
    same="تعرض لوحة مشروع المنارة طول قائمة الانتظار لكل عامل.",
    files="يقرأ مستورد مشروع المنارة الملفات على دفعات حجمها 64 MB.",
    archives="يقرأ مستورد مشروع المنارة الأرشيف على دفعات حجمها 16 MB.",
    both="يقرأ مستورد مشروع المنارة الملفات والأرشيف على دفعات حجمها 32 MB.",
    cause=(
        "يأتي خطأ تسجيل الدخول في مشروع المنارة من الخادم الوسيط.",
        "لا يأتي خطأ تسجيل الدخول في مشروع المنارة من الخادم الوسيط.",
    ),
    word=(
        "يقع الخادم الذي يحفظ حسابات العملاء في مشروع المنارة في القاهرة.",
        "يقع الخادم الذي يحفظ حسابات العملاء في مشروع المنارة في تونس.",
    ),
)
HEBREW = Language(
    chain=(
        "משימת הניקוי של פרויקט המגדלור שומרת הפעלות ישנות למשך 45 ימים.",
        "משימת הניקוי של פרויקט המגדלור שומרת הפעלות ישנות למשך 30 ימים.",
        "משימת הניקוי של פרויקט המגדלור שומרת הפעלות ישנות למשך 60 ימים.",
        "משימת הניקוי של פרויקט המגדלור שומרת הפעלות ישנות למשך 90 ימים.",
    ),
    place=(
        "טבלת ההפעלות של פרויקט המגדלור נמצאת בקובץ db/sessions.sql.",
        "טבלת ההפעלות של פרויקט המגדלור נמצאת בקובץ db/store.sql.",
    ),
    same="לוח הבקרה של פרויקט המגדלור מציג את אורך התור של כל עובד.",
    files="המייבא של פרויקט המגדלור קורא קבצים במנות של 64 MB.",
    archives="המייבא של פרויקט המגדלור קורא ארכיונים במנות של 16 MB.",
    both="המייבא של פרויקט המגדלור קורא קבצים וארכיונים במנות של 32 MB.",
    cause=(
        "שגיאת הכניסה של פרויקט המגדלור מגיעה משרת הביניים.",
        "שגיאת הכניסה של פרויקט המגדלור לא מגיעה משרת הביניים.",
    ),
    word=(
        "השרת עם חשבונות הלקוחות של פרויקט המגדלור עומד בחיפה.",
        "השרת עם חשבונות הלקוחות של פרויקט המגדלור עומד באילת.",
    ),
)
LANGUAGES = {
    "english": ENGLISH,
    "german": GERMAN,
    "japanese": JAPANESE,
    "chinese": CHINESE,
    "arabic": ARABIC,
    "hebrew": HEBREW,
}
