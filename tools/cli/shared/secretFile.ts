import { readFile, stat } from 'node:fs/promises'
import { Refusal } from './program.js'

/** The option that names the file. */
export type FileOption = '--key-file' | '--keystore' | '--mnemonic-file' | '--password-file'

/**
 * Reads a secret, and refuses a file that other users may read. Windows has no file modes.
 * @throws Refusal
 */
export async function readSecret(option: FileOption, path: string): Promise<string> {
  const mode = await fileMode(option, path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    throw new Refusal(`${path} has the mode ${shown}: others may read it. Run: chmod 600 ${path}`)
  }
  return contents(path)
}

/** Reads a file that other users may read. @throws Refusal */
export async function readPublic(option: FileOption, path: string): Promise<string> {
  await fileMode(option, path)
  return contents(path)
}

/**
 * @throws Refusal if the path is not a file. The path is not shown then, because it may be the secret itself
 */
async function fileMode(option: FileOption, path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile()) return found.mode
  throw new Refusal(
    `${option} expects the path of a file, and found none. The given value is not shown: it may be a secret.`,
  )
}

function contents(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw new Refusal(`${path} cannot be read.`)
  })
}
