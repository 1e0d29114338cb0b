import { Option } from 'commander'
import { parse } from 'yaml'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Mode } from '../config/config.ts'
import { describeConfig } from '../config/describe.ts'
import { ConfigurationFault } from '../config/problem.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { readConfig, readWiring } from './settings.ts'

/** `farebox config check|show`. */
export const configCommands: AddCommands = (program, around) => {
  const config = program.command('config').description('check and show the settings: environment and farebox.yaml')
  const mode = () =>
    new Option(
      '--mode <mode>',
      'as `farebox serve` reads them, or as `npm start` does (default: development beside its data folder, else production)',
    ).choices(['production', 'development'])

  withJson(
    config
      .command('check')
      .description('list everything that is wrong, with file, line and what to do')
      .addOption(mode()),
  ).action((options: { json?: boolean; mode?: Mode }) => check(around, options))
  withJson(
    config
      .command('show')
      .description('print the settings in force as YAML; secrets only as `set (sha256:ab12…)`')
      .addOption(mode()),
  ).action((options: { json?: boolean; mode?: Mode }) => {
    const { config: settings, secrets } = readConfig(around, modeOf(around, options))
    const text = describeConfig(settings, secrets)
    print(around, options, { data: parse(text), text: text.trimEnd() })
  })
}

function check(around: ProgramSurroundings, options: { json?: boolean; mode?: Mode }): void {
  const mode = modeOf(around, options)
  try {
    const { config } = readConfig(around, mode)
    const text = `${config.configurationFile} and the environment are in order for ${mode}: models ${config.models.length}, providers ${Object.keys(config.providers).length}.`
    print(around, options, { data: { mode, file: config.configurationFile, problems: [] }, text })
  } catch (error) {
    if (!(error instanceof ConfigurationFault) || !options.json) throw error
    print(around, options, { data: { mode, problems: error.problems }, text: '' })
    throw new ProgramFault(exitCodes.failed, '')
  }
}

function modeOf(around: ProgramSurroundings, options: { mode?: Mode }): Mode {
  return options.mode ?? readWiring(around).mode
}
