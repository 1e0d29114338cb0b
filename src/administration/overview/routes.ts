import { Type } from 'typebox'
import { Closed } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { administration } from '../schema.ts'
import { OverviewView } from './schema.ts'
import { type OverviewDeps, overview } from './service.ts'
import { overviewView } from './view.ts'

const DAYS_DEFAULT = 7
const DAYS_MAX = 31

/** How the server stands, for its operator. */
export function overviewRoutes(deps: OverviewDeps): Route[] {
  return [
    route({
      ...administration,
      method: 'GET',
      path: '/v1/admin/overview',
      summary: 'How everything stands: treasury against ledger, margins, providers, chains, jobs, and what waits.',
      description:
        'Each part says as of when. A part that could not be read is null. Providers and jobs are those of the process that answers. Margins count charges in the hour they were made and usage in the hour the call began, whole hours only.',
      query: Type.Object({
        days: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: DAYS_MAX,
            default: DAYS_DEFAULT,
            description: 'Margins of so many days',
          }),
        ),
      }),
      replies: { 200: Closed({ data: OverviewView, request_id: Type.String() }) },
      refuses: [],
      handle: async ({ query: { days = DAYS_DEFAULT }, requestId }) => ({
        data: overviewView(await overview(deps, days), deps.server),
        request_id: requestId,
      }),
    }),
  ]
}
