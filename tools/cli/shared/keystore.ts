import type { Hex } from 'viem'
import { Refusal } from './program.js'
import { readPublic, readSecret } from './secretFile.js'
import { askSecret } from './terminal.js'

export type KeystorePlace = { readonly path: string; readonly passwordFile: string | undefined }

/** Decrypts the key of a keystore file (Web3 Secret Storage, version 3; scrypt or PBKDF2). @throws Refusal */
export async function openKeystore({ path, passwordFile }: KeystorePlace): Promise<Hex> {
  const { decryptKeystoreJson, isKeystoreJson } = await import('ethers')
  const text = await readPublic('--keystore', path)
  if (!isKeystoreJson(text))
    throw new Refusal(`${path} is no keystore (version 3, the format of geth and foundry).`)
  const password =
    passwordFile === undefined
      ? await askSecret(`Password of ${path}: `, '--password-file')
      : withoutNewline(await readSecret('--password-file', passwordFile))
  try {
    return (await decryptKeystoreJson(text, password)).privateKey as Hex
  } catch (error) {
    throw new Refusal(whyClosed(path, error))
  }
}

/** An editor ends a file with a newline; a space may be part of the password. */
const withoutNewline = (text: string): string => text.replace(/[\r\n]+$/, '')

/** ethers names the invalid argument. Its short messages are fixed texts without secrets. */
function whyClosed(path: string, error: unknown): string {
  const { argument, shortMessage } = error as { argument?: unknown; shortMessage?: unknown }
  if (argument === 'password') return `The password does not open ${path}.`
  const why = typeof shortMessage === 'string' ? `: ${shortMessage}` : ''
  return `${path} is a keystore that cannot be opened${why}.`
}
