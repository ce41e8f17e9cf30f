import { answer, type Parsed } from '../../tools/cli/shared/program.js'

/** Returns the options to run with. If there are none, prints the error or the help, and ends the process. */
export async function optionsOrEnd<options>(parsed: Parsed<options>, command: string): Promise<options> {
  let found: options | undefined
  const code = await answer(parsed, command, async (options) => {
    found = options
    return 0
  })
  return found ?? process.exit(code)
}
