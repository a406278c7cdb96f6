"""Sessions written by hand for `project_resume.py`, by someone who had not written the hooks.

Languages, tools and habits are mixed: lists of tasks in both forms that agents keep, next steps
that stand in a plan or in the last reply alone, commands that fail with their error as the whole
answer, decisions in a prompt. `@FOLDER@` is the project's folder.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Event = tuple[str, dict[str, Any]]


class Written(NamedTuple):
    """A session up to its compaction. probes: what is asked, and the words that answer it."""

    branch: str
    events: list[Event]
    probes: list[tuple[str, list[str]]]


def _asked(prompt: str) -> Event:
    return "UserPromptSubmit", {"prompt": prompt}


def _used(name: str, given: dict[str, Any], answer: Any = None) -> Event:
    return "PostToolUse", {"tool_name": name, "tool_input": given, "tool_response": answer}


def _ran(command: str, out: str = "", err: str = "") -> Event:
    answer = {"stdout": out, "stderr": err, "interrupted": False, "isImage": False}
    return _used("Bash", {"command": command, "description": "Run it"}, answer)


def _failed(command: str, output: str, code: int = 1) -> Event:
    return "PostToolUseFailure", {
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "error": f"Exit code {code}\n{output}",
        "is_interrupt": False,
    }


def _edited(path: str, *hunks: tuple[int, int], tool: str = "Edit") -> Event:
    patch = [
        {"oldStart": start, "oldLines": count, "newStart": start, "newLines": count, "lines": []}
        for start, count in hunks
    ]
    given = {"file_path": f"@FOLDER@/{path}", "old_string": "a", "new_string": "b"}
    return _used(tool, given, {"filePath": f"@FOLDER@/{path}", "structuredPatch": patch})


def _tasks(*subjects: str) -> list[Event]:
    return [
        _used(
            "TaskCreate",
            {"subject": subject, "description": "As agreed.", "activeForm": f"Doing {subject}"},
            {"task": {"id": str(number), "subject": subject}},
        )
        for number, subject in enumerate(subjects, 1)
    ]


def _task(number: int, status: str) -> Event:
    answer = {"success": True, "taskId": str(number), "updatedFields": ["status"]}
    return _used("TaskUpdate", {"taskId": str(number), "status": status}, answer)


def _replied(text: str) -> Event:
    return "Stop", {"stop_hook_active": False, "last_assistant_message": text}


_NOISE = [
    _used("Read", {"file_path": "@FOLDER@/README.md"}, {"file": {"content": "word " * 200}}),
    _used("Grep", {"pattern": "Error"}, {"content": "log.txt: ValueError: of another day"}),
    _ran("git status --short", " M a\n"),
]

WRITTEN = [
    Written(
        "bugfix/SHOP-411-rundung",
        [
            _asked("Die Rechnungssumme weicht um einen Cent ab, bitte beheben."),
            *_NOISE,
            *_tasks("Test für die Rundung schreiben", "Summe in BigDecimal rechnen",
                    "Migration der alten Belege"),
            _task(1, "in_progress"),
            _used("Write", {"file_path": "@FOLDER@/src/test/java/shop/RundungTest.java",
                            "content": "class RundungTest {\n}\n"}, {"type": "create"}),
            _task(1, "completed"),
            _task(2, "in_progress"),
            _asked("Wir runden kaufmännisch, HALF_UP, nicht HALF_EVEN."),
            _edited("src/main/java/shop/Summe.java", (212, 14)),
            _failed("./mvnw -q test", "[ERROR] RundungTest.summe:31 expected: <19.99> but was: "
                    "<20.00>\n[ERROR] Tests run: 4, Failures: 1, Errors: 0"),
            _replied("Der Test schlägt noch fehl, die Summe rundet an zwei Stellen."),
        ],
        [("task", ["Summe in BigDecimal rechnen"]), ("next step", ["Migration der alten Belege"]),
         ("last error", ["expected: <19.99> but was: <20.00>"]), ("last decision", ["HALF_UP"]),
         ("issue", ["SHOP-411"]), ("branch", ["bugfix/SHOP-411-rundung"]),
         ("files with lines", ["src/main/java/shop/Summe.java:212-225"])],
    ),
    Written(
        "main",
        [
            _asked("PLAT-88: move the staging cluster to spot instances, one node pool at a time."),
            *_tasks("Add the spot pool", "Drain the on-demand pool", "Delete the on-demand pool"),
            _task(1, "in_progress"),
            _edited("infra/modules/pool/main.tf", (40, 12), (77, 3)),
            _failed("terraform plan -no-color", "│ Error: Unsupported argument\n│ \n│   on "
                    "modules/pool/main.tf line 41, in resource \"pool\":\n│   41:   spot = true"),
            _edited("infra/modules/pool/main.tf", (41, 1)),
            _ran("terraform apply -auto-approve", "Apply complete! Resources: 1 added"),
            _task(1, "completed"),
            _task(2, "in_progress"),
            _asked("Go with a surge of one node, the quota allows no more."),
            _failed("kubectl drain pool-a", "Error from server (NotFound): nodes \"pool-a\" "
                    "not found"),
        ],
        [("task", ["Drain the on-demand pool"]), ("next step", ["Delete the on-demand pool"]),
         ("last error", ['nodes "pool-a" not found']), ("last decision", ["surge of one node"]),
         ("issue", ["PLAT-88"]), ("branch", ["main"]),
         ("files with lines", ["infra/modules/pool/main.tf:40-51"])],
    ),
    Written(
        "ring-buffer",
        [
            _asked("Make the ring buffer lock free. The ticket is DSP-19."),
            _edited("include/ring.hpp", (18, 40)),
            _edited("src/ring.cpp", (80, 22)),
            _failed("cmake --build build -j4", "[ 40%] Building CXX object\nsrc/ring.cpp:88:17: "
                    "error: no matching function for call to 'store'\n   88 | head.store(x)\n"
                    "ninja: build stopped: subcommand failed."),
            _replied("It does not build yet.\n\nNext steps:\n1. Make `head` atomic in ring.hpp\n"
                     "2. Run the thread sanitizer\n"),
        ],
        [("task", ["Make the ring buffer lock free"]),
         ("next step", ["Make `head` atomic in ring.hpp"]),
         ("last error", ["no matching function for call to 'store'"]), ("issue", ["DSP-19"]),
         ("branch", ["ring-buffer"]), ("files with lines", ["src/ring.cpp:80-101"])],
    ),
    Written(
        "feature/web-7-kensaku",
        [
            _asked("検索画面にページ送りを追加してください。"),
            _used("AskUserQuestion", {"questions": [{"question": "方式は?"}]},
                  {"questions": [], "answers": {"ページ送りの方式は?": "カーソル方式"}}),
            _used("Write", {"file_path": "@FOLDER@/src/search/pager.ts", "content": "x\n" * 39},
                  {"type": "create"}),
            _failed("npx tsc --noEmit", "src/search/pager.ts(12,5): error TS2322: Type 'string' is "
                    "not assignable to type 'Cursor'.", 2),
            _replied("型エラーが残っています。\n\n"
                     "次のステップ:\n- Cursor型を公開する\n- 結合テスト"),
        ],
        [("task", ["検索画面にページ送りを追加"]), ("next step", ["Cursor型を公開する"]),
         ("last error", ["error TS2322"]), ("last decision", ["カーソル方式"]),
         ("issue", ["WEB-7"]), ("branch", ["feature/web-7-kensaku"]),
         ("files with lines", ["src/search/pager.ts:1-39"])],
    ),
    Written(
        "facturation",
        [
            _asked("Ajoute l'export des factures en PDF (voir FAC-230)."),
            _used("TodoWrite", {"todos": [
                {"content": "Modèle de facture", "status": "completed", "activeForm": "Modèle"},
                {"content": "Rendu PDF", "status": "in_progress", "activeForm": "Rendu"},
                {"content": "Envoi par courriel", "status": "pending", "activeForm": "Envoi"},
            ]}),
            _edited("app/services/invoice_pdf.rb", (5, 31), tool="MultiEdit"),
            _failed("bundle exec rspec", "Failures:\n\n  1) InvoicePdf renders the total\n"
                    "     Failure/Error: pdf.total\n\n     NoMethodError:\n       undefined method "
                    "'total' for nil\n\n12 examples, 1 failure"),
            _used("ExitPlanMode", {"plan": "## Rendu avec Prawn\n\nSans navigateur."},
                  {"plan": "## Rendu avec Prawn\n\nSans navigateur.", "isAgent": False}),
        ],
        [("task", ["Rendu PDF"]), ("next step", ["Envoi par courriel"]),
         ("last error", ["undefined method 'total' for nil"]),
         ("last decision", ["Rendu avec Prawn"]), ("issue", ["FAC-230"]),
         ("branch", ["facturation"]),
         ("files with lines", ["app/services/invoice_pdf.rb:5-35"])],
    ),
    Written(
        "main",
        [
            _asked("Cambia el inventario a eventos, INV-5."),
            _used("ExitPlanMode", {"plan": "# Plan: inventario por eventos\n\n1. Tabla de eventos\n"
                                           "2. Proyección de existencias\n3. Borrar la columna"},
                  "User has approved your plan. You can now start coding."),
            _used("Write", {"file_path": "@FOLDER@/lib/inventory/event.ex", "content": "x\n" * 20},
                  {"type": "create"}),
            _failed("mix test", "  1) test projects (InventoryTest)\n     ** (KeyError) key :qty "
                    "not found in: %{}\n\n5 tests, 1 failure"),
            _replied("Falta la clave.\n\nPróximos pasos:\n1. Proyección de existencias"),
        ],
        [("task", ["Cambia el inventario a eventos"]),
         ("next step", ["Proyección de existencias"]),
         ("last error", ["key :qty not found"]), ("last decision", ["inventario por eventos"]),
         ("issue", ["INV-5"]), ("branch", ["main"]),
         ("files with lines", ["lib/inventory/event.ex:1-20"])],
    ),
    Written(
        "analysis/churn",
        [
            _asked("Why did churn rise in the second quarter? Use the warehouse."),
            _used("NotebookEdit", {"notebook_path": "@FOLDER@/churn.ipynb", "new_source": "x"},
                  {"new_source": "x", "cell_id": "c1"}),
            _failed("psql -f cohort.sql", "psql:cohort.sql:3: ERROR:  relation \"cohort_q2\" does "
                    "not exist\nLINE 3: FROM cohort_q2"),
            _asked("Leave out trial accounts, they never churn. This belongs to DATA-61."),
            _replied("Trials are left out.\n\n**Remaining:** join the cohorts with the price "
                     "changes, then plot them."),
        ],
        [("task", ["Why did churn rise in the second quarter"]),
         ("next step", ["join the cohorts with the price changes"]),
         ("last error", ['relation "cohort_q2" does not exist']),
         ("last decision", ["Leave out trial accounts"]), ("issue", ["DATA-61"]),
         ("branch", ["analysis/churn"]), ("files", ["churn.ipynb"])],
    ),
    Written(
        "grid-wrap",
        [
            _asked("Let the grid wrap around at its edges."),
            *_tasks("Index arithmetic with rem_euclid", "Property tests", "Changelog"),
            _task(1, "in_progress"),
            _edited("src/grid.rs", (38, 9)),
            _ran("git commit -am 'feat(grid): GAME-144 wrap the columns'", "[grid-wrap 1a2] feat"),
            _task(1, "completed"),
            _task(2, "in_progress"),
            _failed("cargo test", "running 3 tests\nthread 'tests::rows' panicked at "
                    "src/grid.rs:41:9:\nindex out of bounds: the len is 8 but the index is 8\n"
                    "test result: FAILED. 2 passed; 1 failed", 101),
            _edited("src/grid.rs", (41, 2)),
        ],
        [("task", ["Property tests"]), ("next step", ["Changelog"]),
         ("last error", ["index out of bounds: the len is 8"]), ("issue", ["GAME-144"]),
         ("branch", ["grid-wrap"]), ("files with lines", ["src/grid.rs:38-46"])],
    ),
    Written(
        "ios/mob-302-offline",
        [
            _asked("Cache the feed so that it opens without a connection."),
            _edited("Feed/FeedView.swift", (9, 6)),
            _failed("xcodebuild -scheme Feed build", "@FOLDER@/Feed/FeedView.swift:12:9: error: "
                    "cannot find 'feedCache' in scope\n** BUILD FAILED **", 65),
            _replied("Decision: one cache file for each account, so that signing out can delete "
                     "it.\n\nNext: add `FeedCache.swift` to the target."),
        ],
        [("task", ["Cache the feed so that it opens without a connection"]),
         ("next step", ["add `FeedCache.swift` to the target"]),
         ("last error", ["cannot find 'feedCache' in scope"]),
         ("last decision", ["one cache file for each account"]), ("issue", ["MOB-302"]),
         ("branch", ["ios/mob-302-offline"]), ("files with lines", ["Feed/FeedView.swift:9-14"])],
    ),
    Written(
        "release/2.4",
        [
            _asked("Atualize o serviço para o novo fuso horário (CORE-9)."),
            *_tasks("Trocar DateTime por DateTimeOffset", "Escrever testes", "Atualizar o guia",
                    "Avisar os clientes"),
            _task(1, "in_progress"),
            _used("Edit", {"file_path": "@FOLDER@/src/Api/Clock.cs", "old_string": "DateTime",
                           "new_string": "DateTimeOffset", "replace_all": True},
                  {"filePath": "@FOLDER@/src/Api/Clock.cs",
                   "structuredPatch": [{"newStart": 14, "newLines": 30}]}),
            _failed("dotnet build", "Clock.cs(19,13): error CS0029: Cannot implicitly convert type "
                    "'string' to 'DateTimeOffset'"),
            _task(1, "completed"),
            _used("TaskUpdate", {"taskId": "2", "status": "deleted"}, {"success": True}),
            _task(3, "in_progress"),
            _replied("Os testes ficam para outra versão, como combinado."),
        ],
        [("task", ["Atualizar o guia"]), ("next step", ["Avisar os clientes"]),
         ("last error", ["error CS0029"]), ("issue", ["CORE-9"]), ("branch", ["release/2.4"]),
         ("files with lines", ["src/Api/Clock.cs:14-43"])],
    ),
    Written(
        "docs",
        [
            _asked("Rewrite the guide for administrators, DOC-12."),
            _edited("docs/admin.md", (1, 60)),
            _edited("docs/backup.md", (10, 4)),
            _used("mcp__linear__update_issue", {"id": "DOC-12", "state": "In Review"}, "{}"),
            _failed("mkdocs build --strict", "WARNING -  Doc file 'admin.md' contains a link "
                    "'restore.md'\nAborted with 1 warnings in strict mode!\n"
                    "fatal: docs are not clean"),
            _asked("We keep one page for backup and restore."),
            _replied("Done so far: the guide and the page on backups.\n\nStill to do:\n"
                     "* merge restore.md into backup.md\n* screenshots\n"),
        ],
        [("task", ["Rewrite the guide for administrators"]),
         ("next step", ["merge restore.md into backup.md"]),
         ("last error", ["docs are not clean"]),
         ("last decision", ["one page for backup and restore"]), ("issue", ["DOC-12"]),
         ("branch", ["docs"]), ("files with lines", ["docs/backup.md:10-13"])],
    ),
    Written(
        "sklep/pay-77-zwroty",
        [
            _asked("Zwroty płatności mają działać częściowo."),
            *_tasks("Model zwrotu", "Kontroler"),
            _task(1, "in_progress"),
            _edited("src/Refund/Refund.php", (55, 20)),
            _ran("php bin/console refund:test 2>&1 | tail -5", "PHP Fatal error:  Uncaught "
                 "TypeError: Refund::amount(): Argument #1 must be of type int"),
            *[_edited(f"src/Refund/Step{number}.php", (number + 1, 2)) for number in range(6)],
            _asked("Kwoty trzymamy w groszach."),
        ],
        [("task", ["Model zwrotu"]), ("next step", ["Kontroler"]),
         ("last error", ["Argument #1 must be of type int"]),
         ("last decision", ["Kwoty trzymamy w groszach"]), ("issue", ["PAY-77"]),
         ("branch", ["sklep/pay-77-zwroty"]),
         ("files with lines", ["src/Refund/Step5.php:6-7"])],
    ),
]  # fmt: skip
