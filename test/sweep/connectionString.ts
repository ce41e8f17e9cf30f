import { badOption } from '../../tools/cli/shared/commandLine.js'

/** Parses `--postgres`. An invalid string is not shown, because it may hold a password. */
export function connectionString(text: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text))
    throw badOption('--postgres expects postgres://user:password@host:port/database.')
  return text
}
