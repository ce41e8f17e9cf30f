import { badOption } from '../../tools/cli/shared/commandLine.js'

/** Parses `--postgres`. One that is none is not shown: it may hold a password. */
export function connectionString(text: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text))
    throw badOption('--postgres expects postgres://user:password@host:port/database.')
  return text
}
