"""What looks like a secret and is none, in the same places."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.redaction_set.contexts import CONTEXTS, Case, templates
from benchmarks.redaction_set.formats import Format

# Random-looking values with neutral names.
LOOKALIKES = tuple(
    Format(*line.split(" ", 1))
    for line in """
git-sha {hex:40}
short-sha {hex:9}
uuid {uuid:36}
md5 {hex:32}
sha256 sha256:{hex:64}
sha512 {hex:128}
lock-integrity sha512-{b64:86}==
image-base64 data:image/png;base64,iVBORw0KGgo{b64:120}
version 2.14.0-rc.1+build.{hex:7}
wheel numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl
colour #{hex:6}
conversation-id conv:{hex:8}
uuid7-file 2026-11-29T15-02-48-643Z_{uuid:36}.jsonl
path /Users/jo/projects/app-{hex:6}/src/components/AuthTokenProvider.test.tsx
long-name getServerSideAuthenticationTokenProviderFactoryV2
snake-name test_a_token_that_was_revoked_is_refused_after_3600_seconds
placeholder-key YOUR_API_KEY
placeholder-angle <your-token-here>
placeholder-x sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
placeholder-env ${SERVICE_API_KEY}
placeholder-template {{ secrets.DEPLOY_TOKEN }}
placeholder-dots sk-ant-...
placeholder-stars ****************
placeholder-aws AKIAIOSFODNN7EXAMPLE
example-url https://user:password@example.com/path
public-key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43} jo@laptop
publishable-key pk_live_{b62:24}
tool-use-id toolu_01{b62:22}
call-id call_{b62:24}
response-id chatcmpl-{b62:29}
request-id req_011C{b62:20}
message-id msg_01{b62:22}
customer-id cus_{b62:14}
arn arn:aws:iam::{dig:12}:role/service-role/AppDeployRole
container-id {hex:12}
etag W/"{hex:32}"
ulid 01J{UP:23}
snowflake {dig:18}
timestamp 2026-11-29T15:02:48.643Z
minified function(e,t,n){{"use strict";var r=n(1),o=n(42);e.exports=r(o)}}
asset main.{hex:8}.chunk.js
mac-address 3c:22:fb:{hex:2}:{hex:2}:{hex:2}
fingerprint SHA256:{b64:43}
ipv6 2001:db8::{hex:4}:{hex:4}
docker-image ghcr.io/acme/app@sha256:{hex:64}
s3-key s3://bucket/2026/11/29/{uuid:36}.parquet
model-file Qwen3-4B-Instruct-2507-MLX-4bit
youtube https://www.youtube.com/watch?v={url:11}
doc-url https://docs.google.com/document/d/1{url:43}/edit
go-sum h1:{b64:43}=
source-map AAAA,SAASA,CAAC,CAAC,CAAC,EAAE,IAAI,CAAC,GAAG,CAAC,OAAO
""".strip().splitlines()
)

# A telling name, and a value that is no secret.
TELLING = tuple(
    Format(provider, template, name)
    for provider, name, template in (
        line.split(" ", 2)
        for line in """
placeholder SERVICE_API_KEY YOUR_API_KEY
placeholder SERVICE_API_KEY your-api-key-here-123
placeholder SERVICE_TOKEN <token>
placeholder SERVICE_TOKEN xxxxxxxxxxxxxxxxxxxx
placeholder DB_PASSWORD ********
placeholder DB_PASSWORD changeme
placeholder DB_PASSWORD ${DB_PASSWORD}
placeholder SERVICE_SECRET REPLACE_ME_WITH_YOUR_SECRET
placeholder SERVICE_API_KEY sk-...
placeholder SERVICE_API_KEY [REDACTED:openai]
placeholder SERVICE_PASSWORD [hidden]
reference SERVICE_TOKEN process.env.SERVICE_TOKEN
reference SERVICE_TOKEN $SERVICE_TOKEN
reference SERVICE_SECRET vault:secret/data/app#key
reference SERVICE_SECRET_NAME prod/app/db-credentials-2
path SERVICE_PRIVATE_KEY /etc/ssl/private/server-2026.key
public SERVICE_PUBLIC_KEY MCowBQYDK2VwAyEA{b64:43}=
number MAX_TOKENS 4096
number TOKEN_COUNT 128000
flag REQUIRE_PASSWORD true
hash CACHE_KEY {hex:40}
hash PRIMARY_KEY {uuid:36}
id IDEMPOTENCY_KEY {uuid:36}
id SORT_KEY user-000{dig:6}-2026
id KEY_ID rsa-signing-2026-01
id TOKEN_ID {dig:6}
url TOKEN_URL https://login.example.com/oauth2/v2.0/token
model TOKENIZER mistralai/Mistral-7B-Instruct-v0.3
""".strip().splitlines()
    )
)


def decoys(rng: random.Random) -> Iterator[Case]:
    """Every decoy in every context but the split one, which has lines of its own."""
    for format_ in LOOKALIKES + TELLING:
        for context in CONTEXTS[:-1]:
            for place in templates(format_.name, context):
                value = "".join(format_.value(rng))
                # a reference is never quoted in code
                text = place.replace("{{", "{").replace("}}", "}").replace("{}", value)
                yield Case(format_.provider, context, text)
    for format_ in LOOKALIKES:
        value = "".join(format_.value(rng))
        for joint in ("\n", "\n    ", '"\n    "'):
            half = max(1, len(value) // 2)
            text = f"it printed {value[:half]}{joint}{value[half:]}\nand then it went on"
            yield Case(format_.provider, "split", text)
        for _ in range(2):
            lines = [f"{rng.getrandbits(28):07x} {word} the parser" for word in ("mend", "try")]
            yield Case(format_.provider, "split", "\n".join([value, *lines, value]))
