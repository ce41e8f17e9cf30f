import { readFile, stat } from 'node:fs/promises'
import { Refusal } from './program.js'

/** The option that names a file. */
export type FileOption = '--key-file' | '--keystore' | '--mnemonic-file' | '--password-file'

/** A secret that others on the machine may read is none. Windows has no such modes. @throws Refusal */
export async function readSecret(option: FileOption, path: string): Promise<string> {
  const mode = await fileMode(option, path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    throw new Refusal(`${path} has the mode ${shown}: others may read it. Run: chmod 600 ${path}`)
  }
  return contents(path)
}

/** A file that others may read. @throws Refusal */
export async function readPublic(option: FileOption, path: string): Promise<string> {
  await fileMode(option, path)
  return contents(path)
}

/** @throws Refusal where it is no file. Its name is not shown then: the secret itself may have been given for it */
async function fileMode(option: FileOption, path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile()) return found.mode
  throw new Refusal(
    `${option} expects the path of a file, and there is none. What was given is not shown: it may be a secret.`,
  )
}

function contents(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw new Refusal(`${path} cannot be read.`)
  })
}
