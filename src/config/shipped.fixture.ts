import { readFileSync } from 'node:fs'
import { packagedConfigurationFile } from './config.ts'

/** What the variables hold that the commented-out examples name. No output may show any of it. */
export const exampleKeys = {
  OPENAI_API_KEY: 'sk-planted-openai',
  ANTHROPIC_API_KEY: 'sk-planted-anthropic',
  REPLICATE_API_TOKEN: 'planted-replicate',
  REPLICATE_WEBHOOK_SECRET: 'planted-replicate-webhook',
  FAL_KEY: 'planted-fal',
  KIE_API_KEY: 'planted-kie',
  GOOGLE_CLIENT_SECRET: 'planted-google',
  WEATHER_AUTHORIZATION: 'Bearer planted-weather',
  S3_ACCESS_KEY_ID: 'planted-access-key',
  S3_SECRET_ACCESS_KEY: 'planted-secret-access-key',
  FACILITATOR_API_KEY: 'planted-facilitator',
  BASE_RPC_URLS: 'https://base.example.org/planted-key',
  RATE_URL: 'https://rates.example.org/planted-rate-key',
}

/** farebox.yaml as it is shipped, for tests. */
export function shipped(): string {
  return readFileSync(packagedConfigurationFile, 'utf8')
}

/** The same with its commented-out examples and keys put into force: comment lines of the form `# key: ...`. */
export function shippedWithExamples(): string {
  return shipped().replace(/^( *)# ( *(?:- )?[a-z_][a-z0-9_-]*:(?: .*)?)$/gm, (line, indent, code) =>
    line.includes('yaml-language-server') ? line : `${indent}${code}`,
  )
}
