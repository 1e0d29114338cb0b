import { Type } from 'typebox'
import { Bytes, ENVIRONMENT_NAME, Keys, Timeout } from './schema-fields.ts'

const Pointer = (description: string) => Type.String({ pattern: '^(/.{0,300})?$', maxLength: 300, description })
const MaybePointer = (description: string) => Type.Optional(Pointer(description))
const Path = (description: string) => Type.String({ pattern: '^/[^#\\s]*$', maxLength: 1000, description })
const Words = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 32, default: [], description })

const States = Keys(
  {
    queuing: Words('Its words for a job that waits.'),
    generating: Words('Its words for a job that is worked on.'),
    succeeded: Words('Its words for a job that is done.'),
    failed: Words('Its words for a job that failed or was canceled.'),
  },
  { description: "The service's words for states. Any other word says nothing, and the job is asked for again." },
)

const Headers = (description: string) =>
  Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }), Type.String({ pattern: '^[ -~]{0,1024}$' }), {
    additionalProperties: false,
    default: {},
    description,
  })

const Submit = Keys(
  {
    path: Path('Template of the path behind `base_url`. `{{model}}` and the others below are filled in.'),
    body: Type.String({
      minLength: 2,
      maxLength: 20_000,
      description:
        'Template of the body: JSON with `{{model}}`, `{{input}}` (what the client sent), `{{input.prompt}}` and other fields of it, `{{images}}`, `{{image}}`, `{{attempt_id}}`, `{{callback_url}}` and `{{type}}`. A text that is one of them becomes its value, or goes when there is none; the key `...` takes over the fields of an object.',
    }),
    headers: Headers(
      'Headers of the submission, with `{{attempt_id}}`, `{{callback_url}}` and `{{model}}` filled in: an idempotency key, for instance.',
    ),
    ok: Type.Optional(
      Keys(
        {
          at: Pointer('Where the answer has the value.'),
          value: Type.String({ maxLength: 64, description: 'The value of a success.' }),
        },
        {
          description:
            'For services that answer 200 to everything: any other value is a refusal, and counts as a status when it is one.',
        },
      ),
    ),
    id: Pointer('Where the answer has the id of the job.'),
    poll_url: MaybePointer('Where the answer has the URL to ask for the state, if it does.'),
    result_url: MaybePointer('Where the answer has the URL of the result, if it does.'),
    cancel_url: MaybePointer('Where the answer has the URL to cancel, if it does.'),
    error_message: MaybePointer('Where a refusal says why.'),
  },
  { description: 'How a job is submitted, by POST.' },
)

const Poll = Keys(
  {
    path: Path('Template of the path to ask for the state, by GET, with `{{job_id}}` and `{{model}}`.'),
    every_ms: Timeout('Milliseconds between two questions.', 2_000),
    state: Pointer('Where the answer has the state.'),
    states: States,
    progress: MaybePointer('Where the answer has the progress.'),
    progress_full: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 100,
      description: 'The progress when all is done.',
    }),
    files: MaybePointer(
      'Where the answer has the files: a URL, a list of URLs, or a list of objects with `url`. `*` goes through a list, and a text that is JSON is read.',
    ),
    units: MaybePointer('Where the answer has how many units the service counted.'),
    error_code: MaybePointer('Where the answer has the code of a failure.'),
    error_message: MaybePointer('Where the answer says why it failed.'),
  },
  { description: 'How a job is asked for. Pointers are JSON pointers (RFC 6901).' },
)

const Signature = Keys(
  {
    secret_env: Type.String({
      pattern: ENVIRONMENT_NAME,
      description: 'The name of the environment variable with the secret. `<NAME>_FILE` works too.',
    }),
    header: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'The header with the signature.' }),
    prefix: Type.String({
      maxLength: 32,
      default: '',
      description: 'What the signature begins with, such as `v1,` or `sha256=`.',
    }),
    encoding: Type.Enum(['hex', 'base64'], { default: 'hex', description: 'How the signature is written.' }),
    content: Type.String({
      minLength: 1,
      maxLength: 1000,
      default: '{{body}}',
      description: 'Template of what is signed: `{{body}}`, `{{body./a/pointer}}` and `{{header.x-name}}`.',
    }),
    timestamp_header: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9-]{1,64}$',
        description: 'The header with the time of sending, in Unix seconds.',
      }),
    ),
    tolerance_ms: Timeout('How old a callback with a time may be, in milliseconds.', 300_000),
    state: MaybePointer('Where the callback has the state. Absent: where the answer to `poll` has it.'),
    files: MaybePointer('Where the callback has the files. Absent: they are asked for.'),
    error_code: MaybePointer('Where the callback has the code of a failure.'),
    error_message: MaybePointer('Where the callback says why the job failed.'),
  },
  {
    description:
      'How callbacks are signed, by HMAC-SHA256. Absent: a callback is only a hint to ask for the state at once. Leave it out as well where the signature does not cover the whole body.',
  },
)

/** A service that takes jobs and is asked how they stand, described key by key. */
export const TaskApiProvider = Keys(
  {
    kind: Type.Literal('task-api', {
      description: 'A service that takes jobs for pictures and films: submit, then poll or be called back.',
    }),
    base_url: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 2048,
      description: 'The http:// or https:// address that all paths are behind, without user, query or fragment.',
    }),
    api_key_env: Type.Optional(
      Type.String({
        pattern: ENVIRONMENT_NAME,
        description:
          'The name of the environment variable that holds the API key, never the key itself. `<NAME>_FILE` works too. Absent: no key is sent.',
      }),
    ),
    auth_header: Type.String({
      pattern: '^[A-Za-z0-9-]{1,64}$',
      default: 'authorization',
      description: 'The header that the key is sent in.',
    }),
    auth_scheme: Type.String({
      pattern: '^[A-Za-z]{0,32}$',
      default: 'Bearer',
      description: 'The word before the key; empty for none.',
    }),
    headers: Headers('Headers sent with each request. Not for secrets: those belong in `api_key_env`.'),
    connections: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 64,
      description: 'The most connections open at once.',
    }),
    connect_timeout_ms: Timeout('Milliseconds to open a connection. Nothing is charged when it fails.', 5_000),
    headers_timeout_ms: Timeout(
      'Milliseconds from a request to its answer. A submission that takes longer may exist, so its cost counts as unknown.',
      60_000,
    ),
    idle_timeout_ms: Timeout('Milliseconds of silence inside an answer until it counts as broken.', 30_000),
    max_response_bytes: Bytes('The largest answer in bytes. Files are fetched separately.', 4_194_304),
    submit: Submit,
    poll: Poll,
    result: Type.Optional(
      Keys(
        { path: Path('Template of the path, with `{{job_id}}` and `{{model}}`.') },
        {
          description:
            'A question of its own for the files, by GET, once the job has succeeded. `files` and `units` then point into its answer.',
        },
      ),
    ),
    cancel: Type.Optional(
      Keys(
        {
          path: Path('Template of the path, with `{{job_id}}` and `{{model}}`.'),
          method: Type.Enum(['POST', 'PUT', 'DELETE'], { default: 'POST', description: 'The method of the request.' }),
        },
        { description: 'How a job is canceled. Absent: it cannot be.' },
      ),
    ),
    find: Type.Optional(
      Keys(
        {
          path: Path('Template of the path, with `{{attempt_id}}` and `{{model}}`.'),
          id: Pointer('Where the answer has the id of the job. Nothing there, or 404: there is none.'),
        },
        { description: 'How the job of a lost submission is looked for, by GET. Absent: it cannot be.' },
      ),
    ),
    callback: Type.Optional(
      Keys(
        { id: Pointer('Where the callback has the id of the job.'), signature: Type.Optional(Signature) },
        { description: 'How callbacks are read, where `submit` sends a `{{callback_url}}`.' },
      ),
    ),
    failures_billed: Type.Enum(['yes', 'no', 'unknown'], {
      default: 'unknown',
      description: 'Whether the service charges for jobs that fail. `unknown` keeps the hold for you to resolve.',
    }),
  },
  { description: 'A provider of kind `task-api`.' },
)
