import { answer, type Parsed } from '../../tools/cli/shared/program.js'

/** What to run with. Where there is nothing to run says why, or what there is, and ends the process. */
export async function optionsOrEnd<options>(parsed: Parsed<options>, command: string): Promise<options> {
  let found: options | undefined
  const code = await answer(parsed, command, async (options) => {
    found = options
    return 0
  })
  return found ?? process.exit(code)
}
