import { generateConfiguration } from './generate-configuration.ts'
import { generateErrorsPage } from './generate-errors.ts'
import { generateOpenApi } from './generate-openapi.ts'
import { generateSchemaDump } from './generate-schema-dump.ts'
import { generateSchemaTypes } from './generate-schema-types.ts'

/** Content by path in the project. */
export type Generated = Record<string, string>

/** Something that is written twice: here by hand, there by this function. */
export interface Generator {
  readonly name: string
  /** `databaseUrl` names a freshly migrated database, as its owner. */
  generate(databaseUrl: string): Promise<Generated>
}

/** Everything that `npm run generate` writes and test/generated.test.ts compares. Another generator is a line here. */
export const generators: readonly Generator[] = [
  { name: 'types of the tables', generate: generateSchemaTypes },
  { name: 'the schema as one text', generate: generateSchemaDump },
  { name: 'the page and the JSON Schema of the configuration', generate: generateConfiguration },
  { name: 'the page of errors', generate: generateErrorsPage },
  { name: 'the OpenAPI document', generate: generateOpenApi },
]
