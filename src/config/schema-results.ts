import { Type } from 'typebox'
import { ENVIRONMENT_NAME, Keys, Timeout } from './schema-fields.ts'

/** What bounds requests to addresses that others chose. */
export const Outgoing = Keys(
  {
    allowed_networks: Type.Optional(
      Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$', maxLength: 64 }), {
        maxItems: 100,
        description:
          'Networks in CIDR notation that may be asked although they are not public, such as `10.1.0.0/16`. Absent: none, in development loopback.',
      }),
    ),
  },
  {
    default: {},
    description:
      "Requests to addresses that others choose: receivers of webhooks, files of providers, clients' pictures. Without an exception they go to the public internet only.",
  },
)

const S3 = Keys(
  {
    endpoint: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 2048,
      description: 'The http:// or https:// address of the service, without the bucket.',
    }),
    region: Type.String({
      pattern: '^[a-z0-9-]{1,64}$',
      default: 'us-east-1',
      description: 'The region that requests are signed for; services without regions take any.',
    }),
    bucket: Type.String({ pattern: '^[a-zA-Z0-9._-]{1,255}$', description: 'The bucket. It can stay private.' }),
    prefix: Type.String({
      pattern: '^([A-Za-z0-9._-]+/)*$',
      maxLength: 200,
      default: 'results/',
      description: 'What the names of objects begin with. Nothing else is touched.',
    }),
    address_style: Type.Enum(['path', 'host'], {
      default: 'path',
      description: 'Whether the bucket is the first part of the path, or of the host name.',
    }),
    access_key_id_env: Type.String({
      pattern: ENVIRONMENT_NAME,
      description: 'The name of the environment variable with the id of the access key. `<NAME>_FILE` works too.',
    }),
    secret_access_key_env: Type.String({
      pattern: ENVIRONMENT_NAME,
      description: 'The name of the environment variable with the secret access key. `<NAME>_FILE` works too.',
    }),
    timeout_ms: Timeout('Milliseconds that one request to the service may take.', 60_000),
  },
  { description: 'An S3-compatible service that keeps the results. Absent: the data folder does.' },
)

/** Where pictures and films are kept, and how long. */
export const Results = Keys(
  {
    keep_days: Type.Integer({
      minimum: 1,
      maximum: 3650,
      default: 7,
      description: 'Days until a result and the URL to it expire. The file is deleted within the day after.',
    }),
    image_bytes_max: Type.Integer({
      minimum: 1024,
      maximum: 1_073_741_824,
      default: 33_554_432,
      description: 'The largest picture in bytes.',
    }),
    video_bytes_max: Type.Integer({
      minimum: 1024,
      maximum: 10_737_418_240,
      default: 536_870_912,
      description: 'The largest film in bytes.',
    }),
    fetch_timeout_ms: Timeout(
      'Milliseconds to fetch a file from a provider, or a picture that a client named.',
      300_000,
    ),
    s3: Type.Optional(S3),
  },
  { default: {}, description: 'Pictures and films that were made: where they are kept, and how long.' },
)
