"""Keys that their own shape gives away, by who issues them.

A shape stands by itself: not in the middle of a longer run of its own characters. Lengths are the
issuers' where they say one, and a lower bound where they do not.
"""

from __future__ import annotations

from collections.abc import Callable

from pipeline.redact.judging import is_lifelike, is_machine_made
from pipeline.redact.rules import SHORTEST_WORD, Rule, later

# after an escaped line break or an escaped character of a URL, too
_STARTS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
_ENDS = r"(?![A-Za-z0-9])"
_UUID = r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"


def _shape(
    kind: str,
    hints: str,
    pattern: str,
    judge: Callable[[str], bool] = is_lifelike,
    shortest: int = SHORTEST_WORD,
) -> Rule:
    """hints: what such a key begins with, in lower case; after "…", what it has in it. shortest:
    characters of such a key, told where its hint is a sign that stands in words of every sort."""
    anchored = not hints.startswith("…")
    return Rule(
        kind,
        tuple(hints.removeprefix("…").split()),
        later(f"{_STARTS}(?:{pattern}){_ENDS}"),
        lambda match: judge(match[0]),
        anchored=anchored,
        word=shortest,
    )


def _faint(kind: str, hints: str, pattern: str) -> Rule:
    """A shape that words could have: it must look drawn as well."""
    return _shape(kind, hints, pattern, is_machine_made)


SHAPES = (
    # code and packages
    _shape("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _shape("github", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape("gitlab", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas-",
           r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,}"
           r"(?:\.[a-z0-9]{2}\.[a-z0-9]{6,12})?"),
    _shape("gitlab", "gr1348941", r"GR1348941[A-Za-z0-9_-]{20,}"),
    _shape("bitbucket", "atbb", r"ATBB[A-Za-z0-9]{28}[A-F0-9]{8}"),
    _shape("atlassian", "atatt3 atctt3", r"AT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    _shape("azure", "…azdo", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _shape("npm", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("pypi", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    _shape("rubygems", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _faint("crates", "cio", r"cio[A-Za-z0-9]{32}"),
    _shape("clojars", "clojars_", r"CLOJARS_[a-f0-9]{60}"),
    _shape("docker", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    _shape("artifactory", "akcp", r"AKCp[A-Za-z0-9]{69}"),
    _shape("artifactory", "cmvmd", r"cmVmd[A-Za-z0-9]{59}"),
    _shape("sourcegraph", "sgp_", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    _shape("sonar", "squ_ sqp_ sqa_", r"sq[upa]_[a-f0-9]{40}"),
    _shape("buildkite", "bkua_", r"bkua_[a-f0-9]{40}"),
    _shape("circleci", "ccipat_", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    _faint("octopus", "api-", r"API-[A-Z0-9]{26}"),
    _shape("postman", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("readme", "rdme_", r"rdme_[a-z0-9]{70}"),
    # clouds and hosts
    _shape("aws", "akia asia aroa aida abia acca",
           r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}"),
    _shape("aws", "absk", r"ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    _shape("google", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _shape("google", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape("google", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _shape("google", "1//0", r"1//0[A-Za-z0-9_-]{40,}"),
    _shape("azure", "…q~", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _shape("alibaba", "ltai", r"LTAI[A-Za-z0-9]{20}"),
    _shape("tencent", "akid", r"AKID[A-Za-z0-9]{32}"),
    _shape("yandex", "aqvn", r"AQVN[A-Za-z0-9_-]{35,38}"),
    _shape("yandex", "y0_ y1_ y2_ y3_", r"y[0-3]_[A-Za-z0-9_-]{50,}"),
    _shape("digitalocean", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("heroku", "hrku-", r"HRKU-[A-Za-z0-9_-]{36,}"),
    _shape("fly", "fm1 fm2_",
           r"fm[12][ar]?_[A-Za-z0-9+/_=-]{60,}(?:,fm[12][ar]?_[A-Za-z0-9+/_=-]{60,})*"),
    _shape("fly", "fo1_", r"fo1_[A-Za-z0-9_-]{43}"),
    _shape("netlify", "nfp_ nfc_ nfo_", r"nf[pco]_[A-Za-z0-9]{36,}"),
    _shape("render", "rnd_", r"rnd_[A-Za-z0-9]{28,40}"),
    _shape("scalingo", "tk-us-", r"tk-us-[A-Za-z0-9_-]{48}"),
    _shape("openshift", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    _shape("supabase", "sbp_", r"sbp_[a-f0-9]{40}"),
    _shape("supabase", "sb_secret_", r"sb_secret_[A-Za-z0-9_-]{24,}"),
    _shape("neon", "napi_", r"napi_[a-z0-9]{50,}"),
    _shape("planetscale", "pscale_", r"pscale_[a-z]{2,6}_[A-Za-z0-9_.-]{31,}[A-Za-z0-9_-]"),
    _shape("databricks", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _shape("terraform", "….atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}"),
    _shape("pulumi", "pul-", r"pul-[a-f0-9]{40}"),
    _shape("prefect", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
    _shape("infracost", "ico-", r"ico-[A-Za-z0-9]{32}"),
    _shape("cloudflare", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    _shape("tailscale", "tskey-", r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,}"),
    _shape("maxmind", "…_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    # safes
    _shape("vault", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _shape("doppler", "dp.",
           r"dp\.(?:pt|ct|sa|scim|audit|st(?:\.[a-z0-9_-]{2,35})?)\.[A-Za-z0-9]{40,44}"),
    _shape("age", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape("1password", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/_-]{200,}={0,3}"),
    _shape("1password", "a3-",
           r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{6}-[A-Z0-9]{5}|[A-Z0-9]{11})(?:-[A-Z0-9]{5}){3}"),
    # models
    _shape("anthropic", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape("openrouter", "sk-or-", r"sk-or-[A-Za-z0-9_-]{20,}"),
    _shape("langfuse", "sk-lf-", rf"sk-lf-{_UUID}"),
    _shape("openai", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{16,}"),
    _shape("openai", "sk-", r"sk-[A-Za-z0-9]{20,}"),
    _shape("huggingface", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _shape("huggingface", "api_org_", r"api_org_[A-Za-z0-9]{34}"),
    _shape("groq", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _shape("xai", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    _shape("replicate", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _shape("perplexity", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _shape("nvidia", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,}"),
    _shape("pinecone", "pcsk_", r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,}"),
    _shape("cerebras", "csk-", r"csk-[a-z0-9]{48}"),
    _shape("elevenlabs", "sk_", r"sk_[a-f0-9]{48}"),
    _faint("fireworks", "fw_", r"fw_[A-Za-z0-9]{22,24}"),
    _shape("jina", "jina_", r"jina_[A-Za-z0-9]{50,}"),
    _faint("voyage", "pa-", r"pa-[A-Za-z0-9_-]{43}"),
    _shape("tavily", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    _shape("firecrawl", "fc-", r"fc-[a-f0-9]{32}"),
    _shape("langsmith", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    # money
    _shape("stripe", "sk_live_ sk_test_ rk_live_ rk_test_",
           r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    # 24, 18 or 33 bytes: none says where a path after it begins
    _shape("webhook", "whsec_",
           r"whsec_(?:[A-Za-z0-9+/]{44}|[A-Za-z0-9+/]{32}|[A-Za-z0-9+/]{24})={0,2}"),
    _shape("razorpay", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14}"),
    _shape("shopify", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("square", "sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    _shape("square", "eaaa", r"EAAA[A-Za-z0-9_-]{60}"),
    _shape("plaid", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _shape("flutterwave", "flwseck", r"FLWSECK(?:_TEST)?-[a-f0-9A-Z]{32}-X"),
    _shape("shippo", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    _shape("easypost", "ezak ezta", r"EZ(?:AK|TA?K)[A-Za-z0-9]{54}"),
    _shape("duffel", "duffel_", r"duffel_(?:live|test)_[A-Za-z0-9_-]{43}"),
    # messages
    _shape("slack", "xox", r"(?:xoxe\.)?xox[abceoprsd]-[A-Za-z0-9-]{10,}"),
    _shape("slack", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    _shape("twilio", "sk", r"SK[0-9a-f]{32}"),
    _shape("sendgrid", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _shape("mailgun", "key-", r"key-[a-f0-9]{32}"),
    _shape("mailchimp", "…-us", r"[a-f0-9]{32}-us\d{1,2}"),
    _shape("brevo", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _faint("resend", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    _shape("telegram", "…:aa", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    _shape("discord", "….", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}",
           shortest=59),
    _faint("facebook", "eaa", r"EAA[A-Za-z0-9]{100,}"),
    # desks
    _shape("linear", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _shape("notion", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _faint("notion", "secret_", r"secret_[A-Za-z0-9]{43}"),
    _shape("figma", "figd_ figo", r"fig(?:d|oh?r?)_[A-Za-z0-9_-]{32,}"),
    _shape("airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _shape("asana", "…/", r"[0-2]/\d{16}(?:/\d{16})?:[a-f0-9]{32}", shortest=51),
    _shape("trello", "atta", r"ATTA[a-f0-9]{64}(?:[A-F0-9]{8})?"),
    _shape("typeform", "tfp_", r"tfp_[A-Za-z0-9_.=-]{39,58}[A-Za-z0-9_=-]"),
    _shape("contentful", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{40,}"),
    _shape("dropbox", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{100,}"),
    _shape("adobe", "p8e-", r"p8e-[A-Za-z0-9]{32}"),
    # what watches
    _shape("newrelic", "nrak- nral- nrii-", r"NR(?:AK|AL|II)-[A-Za-z0-9-]{27,32}"),
    _shape("grafana", "glsa_", r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    _shape("grafana", "glc_eyj", r"glc_eyJ[A-Za-z0-9+_-]{32,}={0,2}"),
    _shape("sentry", "sntryu_ sntrya_", r"sntry[ua]_[a-f0-9]{64}"),
    _shape("sentry", "sntrys_eyj", r"sntrys_eyJ[A-Za-z0-9+-]{32,}={0,2}_[A-Za-z0-9+/]{43}"),
    _shape("dynatrace", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _shape("posthog", "phx_", r"phx_[A-Za-z0-9]{40,}"),
    _shape("launchdarkly", "api- sdk-", rf"(?:api|sdk)-{_UUID}"),
    _shape("mapbox", "sk.eyj", r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    # anybody
    _shape("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _shape("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]{8,}){3}"),
)  # fmt: skip
