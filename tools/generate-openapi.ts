import { readFile } from 'node:fs/promises'
import { docsRoutes } from '../src/docs/routes.ts'
import { openApi } from '../src/http/openapi.ts'
import type { Route } from '../src/http/route.ts'
import type { Generated } from './generators.ts'

/** The OpenAPI document of every route that is served. */
export async function generateOpenApi(): Promise<Generated> {
  const { version } = JSON.parse(
    await readFile(new URL('../package.json', import.meta.url), 'utf8'),
  ) as { version: string }
  const routes: Route[] = docsRoutes({ routes: () => routes, version })
  return { 'openapi.json': `${JSON.stringify(openApi(routes, { version }), null, 2)}\n` }
}
