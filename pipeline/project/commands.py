"""Every command of `anvil-memory` and `memory project`, with its flags: the one table of both."""

from __future__ import annotations

from pipeline.project import vocabulary
from pipeline.project.call import Command, Flag

_TYPES = f"Its kind: {', '.join(vocabulary.TYPES)}, or one of the setting project.types."
_CONCEPTS = f"What it is about: {', '.join(vocabulary.CONCEPTS)}; others are allowed."
_SESSION = "A session's number, or the agent's own id, which begins one if it is new."

_OF_OBSERVATION = (
    Flag("--subtitle", "A second line."),
    Flag("--content", "The text."),
    Flag("--content-file", "A file with the text; - for standard input."),
    Flag("--file", "A file it is about; may be given more than once.", many=True),
    Flag("--concept", _CONCEPTS, many=True),
    Flag("--linear", "Key of the Linear issue it belongs to."),
    Flag("--session", _SESSION),
)
_FILTERS = (
    Flag("--type", "Only this kind; may be given more than once.", many=True),
    Flag("--since", "From this date (2000-01-31), time, or age (12h, 7d, 2w) on."),
    Flag("--until", "Up to this date, time, or age."),
    Flag("--file", "Only about a file with this in its path."),
    Flag("--concept", "Only with this concept; any, if given more than once.", many=True),
    Flag("--linear", "Only of this Linear issue."),
)

COMMANDS = (
    Command(
        "init",
        "Begin the memory of this project; it stands in .anvil/ and git leaves it alone.",
        "init",
        (),
        "writing.init",
    ),
    Command(
        "observe",
        "Store what was found out, done or decided.",
        'observe --type decision --title "TITLE" --content "WHY" --file FILE',
        (
            Flag("--type", _TYPES, required=True),
            Flag("--title", "One line that says it.", required=True),
            *_OF_OBSERVATION,
        ),
        "writing.observe",
    ),
    Command(
        "search",
        'Find observations: all words, else any; "a phrase"; begin* for a beginning.',
        'search --type decision --since 30d "WORDS"',
        (
            Flag("query", "The words.", many=True, required=True),
            *_FILTERS,
            Flag("--limit", "So many at most; 10 unless said.", kind=int),
            Flag("--full", "Show the whole text too.", kind=bool),
            Flag(
                "--advanced",
                "The query is an FTS5 expression: AND, OR, NOT, NEAR, title:WORD.",
                kind=bool,
            ),
        ),
        "reading.search",
    ),
    Command(
        "get",
        "Show whole observations.",
        "get 12 15",
        (Flag("ids", "Their ids.", many=True, required=True),),
        "reading.get",
    ),
    Command(
        "context",
        "Show what an agent is told when a session begins.",
        "context --resume --budget 1500",
        (
            Flag("--limit", f"Observations in a list; {vocabulary.LIMIT} unless said.", kind=int),
            Flag("--budget", f"Tokens at most; {vocabulary.BUDGET} unless said.", kind=int),
            Flag("--format", f"One of: {', '.join(vocabulary.CONTEXT_FORMATS)}."),
            Flag("--resume", "Say where the work stands though it seems done.", kind=bool),
            *_FILTERS,
        ),
        "reading.context",
    ),
    Command(
        "timeline",
        "Show what was observed around an observation, or of an issue or a file.",
        "timeline --anchor 12 --before 5 --after 5",
        (
            Flag("--anchor", "The id of an observation."),
            Flag("--before", "So many before it; 10 unless said.", kind=int),
            Flag("--after", "So many after it; 10 unless said.", kind=int),
            Flag("--issue", "All of this Linear issue."),
            Flag("--file", "All about a file with this in its path."),
        ),
        "reading.timeline",
    ),
    Command(
        "checkpoint",
        "Store where the work stands, to be taken up from there.",
        'checkpoint --level L2 --percent 87 --task "TASK" --progress "DONE" --summary "NEXT"',
        (
            Flag("--level", f"One of: {', '.join(vocabulary.LEVELS)}.", required=True),
            Flag("--percent", "How much of the context is in use.", kind=float),
            Flag("--task", "What is being done."),
            Flag("--progress", "How far it is."),
            Flag("--summary", "What comes next."),
            Flag("--files", 'Files in progress, as JSON: [{"path": "FILE", "lines": "12-40"}].'),
            Flag("--handoff", "A handoff file, which must be there."),
            Flag("--trigger", f"One of: {', '.join(vocabulary.TRIGGERS)}; manual unless said."),
            Flag("--linear", "Key of the Linear issue."),
            Flag("--session", _SESSION),
        ),
        "writing.checkpoint",
    ),
    Command(
        "ralph-iteration",
        "Store how one iteration of a Ralph loop went.",
        "ralph-iteration --session LOOP --iteration 5 --status completed",
        (
            Flag("--session", "The loop's name.", required=True),
            Flag("--iteration", "Its number.", kind=int, required=True),
            Flag("--status", f"One of: {', '.join(vocabulary.STATUSES)}.", required=True),
            Flag("--items-completed", 'What was done, as JSON: ["FIRST", "SECOND"].'),
            Flag("--todo-start", "Items left when it began.", kind=int),
            Flag("--todo-end", "Items left when it ended.", kind=int),
            Flag("--percent", "The most of the context in use.", kind=float),
            Flag("--checkpoint", "The id of the checkpoint it ended with.", kind=int),
        ),
        "writing.ralph_iteration",
    ),
    Command(
        "ralph-history",
        "Show the iterations of loops, or what they show.",
        "ralph-history --pattern",
        (
            Flag("--session", "Only this loop."),
            Flag("--pattern", "Items per iteration, stalls and error streaks.", kind=bool),
        ),
        "reading.ralph_history",
    ),
    Command(
        "session",
        "Show the current session, list the last ones, or end one.",
        'session --end --summary "SUMMARY"',
        (
            Flag("--current", "Show the current one; what is done unless said.", kind=bool),
            Flag("--list", "List the last ones.", kind=bool),
            Flag("--end", "End it.", kind=bool),
            Flag("--summary", "What was done in it."),
            Flag("--session", "The number of another than the current one."),
        ),
        "writing.session",
    ),
    Command(
        "edit",
        "Put new values in the place of an observation's own.",
        'edit 12 --title "TITLE"',
        (
            Flag("id", "Its id.", required=True),
            Flag("--type", _TYPES),
            Flag("--title", "One line that says it."),
            *_OF_OBSERVATION,
        ),
        "writing.edit",
    ),
    Command(
        "delete",
        "Take observations, or all in which a text stands, out of the store, its index and file.",
        'delete --match "WORDS"',
        (
            Flag("ids", "The ids of observations.", many=True),
            Flag(
                "--match",
                "All in which this text stands, whatever its case: observations, prompts, "
                "checkpoints, iterations, and the lines of sessions' requests and summaries.",
            ),
            Flag("--yes", "Delete what --match shows without it.", kind=bool),
        ),
        "deleting.delete",
    ),
    Command(
        "export",
        "Write all of the store: json and jsonl can be imported, markdown is for reading.",
        "export --format jsonl --output FILE",
        (
            Flag("--format", f"One of: {', '.join(vocabulary.EXPORT_FORMATS)}; json unless said."),
            Flag("--output", "The file; standard output unless said."),
        ),
        "moving.export",
    ),
    Command(
        "import",
        "Take in an export, or another memory; what is here already stays as it is.",
        "import FILE --dry-run",
        (
            Flag("file", "The file that export wrote."),
            Flag("--from", f"Another memory: {', '.join(vocabulary.IMPORT_ORIGINS)}."),
            Flag("--db", "Its database, where it is not in the usual place."),
            Flag(
                "--project",
                "The project's name in it; that of this folder unless said, * for all of them.",
            ),
            Flag("--dry-run", "Only say what would be taken in.", kind=bool),
        ),
        "moving.import_",
    ),
    Command(
        "hooks",
        "Have a coding agent call the memory, or no longer; shows what changes in its settings.",
        "hooks install --scope user --dry-run",
        (
            Flag("action", f"One of: {', '.join(vocabulary.HOOK_ACTIONS)}.", required=True),
            Flag("--agent", f"One of: {', '.join(vocabulary.AGENTS)}."),
            Flag(
                "--scope",
                "Whose settings: local (yours in this project; unless said), project (shared with "
                "everybody in it), user (yours in every project).",
            ),
            Flag("--dry-run", "Only show what would be changed.", kind=bool),
        ),
        "hooking.hooks",
    ),
    Command("stats", "Show how much is in the store.", "stats", (), "reading.stats"),
    Command(
        "doctor",
        "Say what is wrong with the store and how to mend it; nothing is written.",
        "doctor",
        (),
        "reading.doctor",
    ),
)
