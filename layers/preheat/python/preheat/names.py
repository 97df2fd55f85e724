"""Every string that two parts of Preheat must agree on.

Resources, events, environment variables, metrics and reasons are named here and nowhere else, so that the functions,
the CDK code and the local stack cannot drift apart. This module imports nothing.
"""

# --- events -----------------------------------------------------------------------------------------------------------
BUS = "preheat"
EVENT_SOURCE = "preheat.app"
SESSION_STARTED = "session.started"
PREFERENCE_CHANGED = "preference.changed"

# --- tables -----------------------------------------------------------------------------------------------------------
RECORDS_TABLE = "preheat-records"
WARM_TABLE = "preheat-warm"
PARTITION_KEY = "pk"
SORT_KEY = "sk"
TTL_ATTRIBUTE = "expires_at"

# --- queues -----------------------------------------------------------------------------------------------------------
WARM_QUEUE = "preheat-warm"
PREFERENCE_QUEUE = "preheat-preference"
WARM_DEAD_LETTERS = "preheat-warm-dead-letters"
PREFERENCE_DEAD_LETTERS = "preheat-preference-dead-letters"
# Message attributes of a rejected record.
REASON_ATTRIBUTE = "reason"
CODE_ATTRIBUTE = "code"
SOURCE_QUEUE_ATTRIBUTE = "source_queue"

# --- functions --------------------------------------------------------------------------------------------------------
WARM_SESSION = "warm_session"
REFRESH_PREFERENCES = "refresh_preferences"
API = "api"
CHAT = "chat"

# --- environment (read by preheat.settings, set by CDK and by the local stack) ----------------------------------------
ENV_RECORDS_TABLE = "PREHEAT_RECORDS_TABLE"
ENV_WARM_TABLE = "PREHEAT_WARM_TABLE"
ENV_BUS = "PREHEAT_BUS"
ENV_DEAD_LETTER_URL = "PREHEAT_DEAD_LETTER_URL"
ENV_CACHE_URL = "PREHEAT_CACHE_URL"
ENV_CACHE_CLUSTER = "PREHEAT_CACHE_CLUSTER"
ENV_CACHE_IAM_USER = "PREHEAT_CACHE_IAM_USER"
ENV_CACHE_NAME = "PREHEAT_CACHE_NAME"
ENV_ENDPOINT_NAME = "PREHEAT_ENDPOINT_NAME"
ENV_INFERENCE_COMPONENT = "PREHEAT_INFERENCE_COMPONENT"
ENV_MODEL_ID = "PREHEAT_MODEL_ID"
ENV_TOKENIZER_FILE = "PREHEAT_TOKENIZER_FILE"
ENV_BUNDLE_TTL_S = "PREHEAT_BUNDLE_TTL_S"
ENV_PREFIX_TTL_S = "PREHEAT_PREFIX_TTL_S"
ENV_PREFILL = "PREHEAT_PREFILL"
ENV_SESSION_TTL_S = "PREHEAT_SESSION_TTL_S"
ENV_MIN_PREFIX_TOKENS = "PREHEAT_MIN_PREFIX_TOKENS"

# --- claims of a verified token ---------------------------------------------------------------------------------------
CLAIM_TENANT = "custom:tenant"
CLAIM_USER = "sub"
CLAIM_ROLE = "custom:role"
ROLE_SERVICE = "service"
# The Lambda Web Adapter hands API Gateway's request context (with the claims) to `chat` in this header.
REQUEST_CONTEXT_HEADER = "x-amzn-request-context"

# --- model endpoint ---------------------------------------------------------------------------------------------------
WARM_UP_PRIORITY = "preheat-priority=warm-up"

# --- metrics ----------------------------------------------------------------------------------------------------------
METRIC_NAMESPACE = "Preheat"
METRIC_TTFT_MS = "TtftMs"
METRIC_REUSED_TOKENS = "ReusedTokens"
METRIC_WARMED_TOKENS = "WarmedTokens"
METRIC_WARM_UPS = "WarmUps"
METRIC_ANSWERS = "Answers"
METRIC_REJECTED = "RejectedEvents"
DIMENSION_STATE = "state"
DIMENSION_OUTCOME = "outcome"
