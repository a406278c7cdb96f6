"""Documented formats of keys and tokens, as templates that a seeded generator fills.

A template holds `{alphabet:length}` for what is drawn, and `⟦…⟧` around the secret where the value
as it is pasted (a URL, a connection string) is more than the secret. Values exist only while the
benchmark runs, so no scanner of the repository ever meets one.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass

_B62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ALPHABETS = {
    "dig": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b62": _B62,
    "url": _B62 + "-_",
    "b64": _B62 + "+/",
    "b32": string.ascii_uppercase + "234567",
    "low": string.ascii_lowercase + string.digits,
    "UP": string.ascii_uppercase + string.digits,
    "alpha": string.ascii_letters,
    "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l".upper(),
    "word": string.ascii_lowercase,
}
_SLOT = re.compile(r"\{(\w+):(\d+)\}")


@dataclass(frozen=True, slots=True)
class Format:
    """One documented kind of secret.

    name: as in an environment variable, for a secret that only its name gives away; "" for one
    that is known by its own shape. Such a value is never shown with a name that tells.
    """

    provider: str
    template: str
    name: str = ""

    def value(self, rng: random.Random) -> tuple[str, str, str]:
        """A fresh value: what stands before the secret in it, the secret, what stands after."""
        filled = _SLOT.sub(lambda slot: _drawn(slot[1], int(slot[2]), rng), self.template)
        if "⟦" not in filled:
            return "", filled, ""
        before, _, rest = filled.partition("⟦")
        secret, _, after = rest.partition("⟧")
        return before, secret, after


def _drawn(what: str, length: int, rng: random.Random) -> str:
    if what in _ALPHABETS:
        alphabet = _ALPHABETS[what]
        # a key's last character is never one that a sentence or a URL would end before
        ends = alphabet.rstrip("-_+/")
        return "".join(rng.choices(alphabet, k=length - 1)) + rng.choice(ends)
    return _SPECIAL[what](length, rng)


def _checked(length: int, rng: random.Random) -> str:
    """Ends in a CRC-32 of the rest, in base 62, six characters, as GitHub and npm document."""
    body = "".join(rng.choices(_B62, k=length - 6))
    crc, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        digits = _B62[digit] + digits
    return body + digits


def _json_part(length: int, rng: random.Random) -> str:
    """Base64url of a JSON object of about `length` bytes; begins with eyJ."""
    body = {"iss": "example", "sub": "".join(rng.choices(_B62, k=max(1, length - 32)))}
    return base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")


def _uuid(_length: int, rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _password(length: int, rng: random.Random) -> str:
    body = rng.choices(_B62 + "!#%^*_-+", k=length - 2)
    return "".join((rng.choice(string.ascii_letters), *body, rng.choice(string.digits)))


_SPECIAL: dict[str, Callable[[int, random.Random], str]] = {
    "crc": _checked,
    "json": _json_part,
    "uuid": _uuid,
    "pass": _password,
}

SHAPED = tuple(
    Format(*line.split(" ", 1))
    for line in """
aws AKIA{b32:16}
aws ASIA{b32:16}
aws-bedrock ABSK{b64:128}
github ghp_{crc:36}
github gho_{crc:36}
github ghs_{crc:36}
github github_pat_{b62:22}_{b62:59}
gitlab glpat-{url:20}
gitlab glpat-{url:27}.{low:2}.{low:9}
gitlab glptt-{hex:40}
gitlab gldt-{url:20}
gitlab glrt-t3_{url:27}
gitlab GR1348941{url:20}
bitbucket ATBB{b62:28}{HEX:8}
slack xoxb-{dig:12}-{dig:13}-{b62:24}
slack xoxp-{dig:12}-{dig:12}-{dig:13}-{hex:32}
slack xapp-1-A{UP:10}-{dig:13}-{hex:64}
slack xoxe.xoxp-1-{b62:163}
slack https://hooks.slack.com/services/⟦T{UP:10}/B{UP:10}/{b62:24}⟧
anthropic sk-ant-api03-{url:93}AA
anthropic sk-ant-admin01-{url:93}AA
anthropic sk-ant-oat01-{url:93}AA
openai sk-proj-{url:74}T3BlbkFJ{url:74}
openai sk-svcacct-{url:74}T3BlbkFJ{url:74}
openai sk-{b62:20}T3BlbkFJ{b62:20}
deepseek sk-{hex:32}
openrouter sk-or-v1-{hex:64}
langfuse sk-lf-{uuid:36}
google AIza{url:35}
google ya29.a0{url:160}
google GOCSPX-{url:28}
google 1//0{url:100}
stripe sk_live_{b62:99}
stripe sk_test_{b62:24}
stripe rk_live_{b62:99}
stripe whsec_{b62:32}
paystack sk_live_{hex:40}
razorpay rzp_live_{b62:14}
npm npm_{crc:36}
pypi pypi-AgEIcHlwaS5vcmc{url:150}
rubygems rubygems_{hex:48}
crates.io cio{b62:32}
clojars CLOJARS_{hex:60}
dockerhub dckr_pat_{url:27}
artifactory AKCp{b62:69}
artifactory cmVmd{b62:59}
huggingface hf_{alpha:34}
replicate r8_{b62:37}
groq gsk_{b62:52}
xai xai-{b62:80}
perplexity pplx-{b62:48}
nvidia nvapi-{url:64}
pinecone pcsk_{b62:6}_{b62:63}
cerebras csk-{low:48}
elevenlabs sk_{hex:48}
fireworks fw_{b62:24}
jina jina_{hex:32}{b62:28}
voyage pa-{url:43}
tavily tvly-{b62:32}
firecrawl fc-{hex:32}
langsmith lsv2_pt_{hex:32}_{hex:10}
twilio SK{hex:32}
sendgrid SG.{url:22}.{url:43}
mailgun key-{hex:32}
mailchimp {hex:32}-us{dig:2}
brevo xkeysib-{hex:64}-{b62:16}
resend re_{b62:8}_{b62:24}
telegram {dig:10}:AA{url:33}
discord MT{b62:24}.{url:6}.{url:38}
discord https://discord.com/api/webhooks/{dig:18}/⟦{url:68}⟧
jwt eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{json:60}.{url:43}
kubernetes eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.{json:180}.{url:342}
shopify shpat_{hex:32}
shopify shpss_{hex:32}
square sq0atp-{url:22}
square EAAA{url:60}
plaid access-production-{uuid:36}
flutterwave FLWSECK-{hex:32}-X
shippo shippo_live_{hex:40}
easypost EZAK{b62:54}
duffel duffel_live_{url:43}
digitalocean dop_v1_{hex:64}
databricks dapi{hex:32}
linear lin_api_{b62:40}
notion ntn_{dig:11}{b62:35}
notion secret_{b62:43}
figma figd_{url:40}
airtable pat{b62:14}.{hex:64}
asana 2/{dig:16}/{dig:16}:{hex:32}
trello ATTA{hex:64}
typeform tfp_{url:44}
contentful CFPAT-{url:43}
dropbox sl.u.{url:130}
facebook EAA{b62:180}
atlassian ATATT3xFfGF0{url:172}={HEX:8}
azure-ad {b62:3}8Q~{url:34}
azure-devops {b62:76}AZDO{b62:4}
azure-storage AccountName=store;AccountKey=⟦{b64:86}==⟧;EndpointSuffix=core.windows.net
alibaba LTAI{b62:20}
tencent AKID{b62:32}
yandex AQVN{url:36}
heroku HRKU-AA{url:58}
fly.io FlyV1 ⟦fm2_{b64:160}⟧
netlify nfp_{b62:36}
render rnd_{b62:32}
supabase sbp_{hex:40}
supabase sb_secret_{url:31}
neon napi_{low:64}
planetscale pscale_tkn_{url:43}
vault hvs.{url:92}
vault hvb.{url:150}
terraform {b62:14}.atlasv1.{url:67}
pulumi pul-{hex:40}
doppler dp.pt.{b62:43}
age AGE-SECRET-KEY-1{bech:58}
1password ops_{json:260}
1password A3-{UP:6}-{UP:6}-{UP:5}-{UP:5}-{UP:5}-{UP:5}
openshift sha256~{url:43}
tailscale tskey-auth-{b62:17}-{b62:32}
grafana glsa_{b62:32}_{hex:8}
grafana glc_{json:110}
newrelic NRAK-{UP:27}
sentry sntryu_{hex:64}
sentry sntrys_{json:90}_{b64:43}
dynatrace dt0c01.{UP:24}.{UP:64}
posthog phx_{b62:43}
mapbox sk.{json:48}.{url:22}
postman PMAK-{hex:24}-{hex:34}
readme rdme_{low:70}
prefect pnu_{low:36}
sonar squ_{hex:40}
sourcegraph sgp_{hex:16}_{hex:40}
buildkite bkua_{hex:40}
circleci CCIPAT_{b62:22}_{hex:40}
octopus API-{UP:26}
infracost ico-{b62:32}
scalingo tk-us-{url:48}
launchdarkly sdk-{uuid:36}
adobe p8e-{low:32}
maxmind {b62:6}_{b62:29}_mmk
postgres postgres://app:⟦{b62:20}⟧@db.example.com:5432/app
mysql mysql+pymysql://root:⟦{pass:12}⟧@10.0.0.4/app
mongodb mongodb+srv://app:⟦{b62:16}⟧@cluster0.example.net/?retryWrites=true
redis redis://:⟦{hex:32}⟧@cache.example.com:6379/0
amqp amqps://svc:⟦{url:32}⟧@mq.example.com/vhost
git-remote https://deploy:⟦{b62:20}⟧@git.example.com/team/app.git
cloudinary cloudinary://{dig:15}:⟦{url:27}⟧@example
sentry-dsn https://{hex:32}:⟦{hex:32}⟧@sentry.example.com/12
sql-server Server=tcp:db.example.com,1433;User ID=sa;Password=⟦{pass:14}⟧;Encrypt=True
""".strip().splitlines()
)

NAMED = tuple(
    Format(provider, template, name)
    for provider, template, name in (
        line.split()
        for line in """
aws {b64:40} AWS_SECRET_ACCESS_KEY
aws {b64:280}== AWS_SESSION_TOKEN
azure {hex:32} AZURE_OPENAI_API_KEY
azure {b64:86}== AZURE_STORAGE_KEY
cloudflare {url:40} CLOUDFLARE_API_TOKEN
datadog {hex:32} DD_API_KEY
datadog {hex:40} DATADOG_APP_KEY
heroku {uuid:36} HEROKU_API_KEY
twilio {hex:32} TWILIO_AUTH_TOKEN
algolia {hex:32} ALGOLIA_ADMIN_API_KEY
mistral {b62:32} MISTRAL_API_KEY
cohere {b62:40} COHERE_API_KEY
together {hex:64} TOGETHER_API_KEY
deepgram {hex:40} DEEPGRAM_API_KEY
assemblyai {hex:32} ASSEMBLYAI_API_KEY
snyk {uuid:36} SNYK_TOKEN
codecov {uuid:36} CODECOV_TOKEN
circleci {hex:40} CIRCLE_TOKEN
vercel {b62:24} VERCEL_TOKEN
railway {uuid:36} RAILWAY_TOKEN
netlify {url:43} NETLIFY_AUTH_TOKEN
gitea {hex:40} GITEA_TOKEN
travis {b62:22} TRAVIS_API_TOKEN
pagerduty {url:20} PAGERDUTY_API_KEY
okta 00{url:40} OKTA_API_TOKEN
auth0 {url:64} AUTH0_CLIENT_SECRET
discord {url:32} DISCORD_CLIENT_SECRET
spotify {hex:32} SPOTIFY_CLIENT_SECRET
reddit {url:30} REDDIT_CLIENT_SECRET
twitter {b62:50} TWITTER_API_SECRET
zendesk {b62:40} ZENDESK_API_TOKEN
jira {b62:24} JIRA_API_TOKEN
telegram {hex:32} TELEGRAM_API_HASH
ngrok {b62:27}_{b62:21} NGROK_AUTHTOKEN
django {pass:50} DJANGO_SECRET_KEY
rails {hex:128} SECRET_KEY_BASE
laravel base64:{b64:43}= LARAVEL_ENCRYPTION_KEY
jwt {b62:32} JWT_SECRET
session {hex:64} SESSION_SECRET
postgres {pass:16} POSTGRES_PASSWORD
mysql {word:10}{dig:2} MYSQL_ROOT_PASSWORD
smtp {pass:12} SMTP_PASS
redis {hex:24} REDIS_PASSWORD
ssh {pass:18} SSH_PASSPHRASE
wifi {pass:10} WIFI_PASSWORD
basic {b62:16} BASIC_AUTH_PASSWORD
""".strip().splitlines()
    )
)
FORMATS = SHAPED + NAMED


def private_key(label: str, rng: random.Random) -> str:
    """A PEM block with that label; its body is noise."""
    body = ["".join(rng.choices(_ALPHABETS["b64"], k=64)) for _ in range(12)]
    return "\n".join((f"-----BEGIN {label}-----", *body, f"-----END {label}-----"))


PRIVATE_KEYS = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
)
