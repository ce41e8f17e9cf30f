import { readFile, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { type Hex, isHex, type LocalAccount } from 'viem'
import { isTxlaneError } from '../../../src/errors/base.js'
import { nativeAccount } from '../../../src/signer/index.js'
import { badOption } from './commandLine.js'
import { Refusal } from './program.js'
import { askSecret } from './terminal.js'

/**
 * Source of the key. The key itself is never an argument, because other users of the machine can read command
 * lines.
 */
export type KeySource =
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | ({ readonly kind: 'keystore' } & KeystorePlace)
  | { readonly kind: 'mnemonicInEnvironment'; readonly name: string; readonly hdPath: string }
  | { readonly kind: 'mnemonicInFile'; readonly path: string; readonly hdPath: string }

export type KeyFlags = {
  readonly keyEnv?: string
  readonly keyFile?: string
  readonly keystore?: string
  readonly passwordFile?: string
  readonly mnemonicEnv?: string
  readonly mnemonicFile?: string
  readonly hdPath?: string
}

const KEY_ENV = 'TXLANE_PRIVATE_KEY'

export function keyFlags(command: Command): Command {
  return command
    .option('--key-env <name>', `environment variable that holds the private key (default: ${KEY_ENV})`)
    .option('--key-file <path>', 'file with the private key, readable by its owner only (mode 0600)')
    .option('--keystore <path>', 'encrypted keystore file; the command prompts for its password')
    .option(
      '--password-file <path>',
      'file with the password of the keystore (mode 0600), instead of the prompt',
    )
    .option('--mnemonic-env <name>', 'environment variable that holds a mnemonic')
    .option('--mnemonic-file <path>', 'file with a mnemonic, readable by its owner only (mode 0600)')
    .option(
      '--hd-path <path>',
      `derivation path of the key; the last number is the index (default: ${HD_PATH})`,
    )
}

/**
 * A private key, or at least as many words as the shortest mnemonic: a secret given where a name is expected.
 */
const SECRET = /[0-9a-f]{64}|(?:\S+\s+){11}\S/i

/** @throws badOption if two sources are given, or if a name looks like a secret */
export function keySource(flags: KeyFlags): KeySource {
  const { keyEnv, keyFile, keystore, passwordFile, mnemonicEnv, mnemonicFile } = flags
  const places = {
    '--key-env': keyEnv,
    '--key-file': keyFile,
    '--keystore': keystore,
    '--mnemonic-env': mnemonicEnv,
    '--mnemonic-file': mnemonicFile,
  }
  const named = Object.entries(places).filter(([, place]) => place !== undefined)
  if (named.length > 1)
    throw badOption('Give one of --key-env, --key-file, --keystore, --mnemonic-env and --mnemonic-file.')
  if (passwordFile !== undefined && keystore === undefined)
    throw badOption('--password-file is for --keystore.')
  for (const [option, place] of named)
    if (SECRET.test(place ?? ''))
      throw badOption(`${option} names the place of the key. A key is never an argument.`)
  const hdPath = hdPathOf(flags)
  if (mnemonicEnv !== undefined) return { kind: 'mnemonicInEnvironment', name: mnemonicEnv, hdPath }
  if (mnemonicFile !== undefined) return { kind: 'mnemonicInFile', path: mnemonicFile, hdPath }
  if (keyFile !== undefined) return { kind: 'file', path: keyFile }
  if (keystore !== undefined) return { kind: 'keystore', path: keystore, passwordFile }
  return { kind: 'environment', name: keyEnv ?? KEY_ENV }
}

// BIP-32: an index has 31 bits, plus a mark for a hardened one.
const INDEX_MAX = 2 ** 31 - 1

function hdPathOf({ hdPath, mnemonicEnv, mnemonicFile }: KeyFlags): string {
  if (hdPath === undefined) return HD_PATH
  if (mnemonicEnv === undefined && mnemonicFile === undefined)
    throw badOption('--hd-path is for --mnemonic-env and --mnemonic-file.')
  const indices = /^m((?:\/\d{1,10}'?)+)$/.exec(hdPath)?.[1]?.match(/\d+/g)
  if (indices?.every((index) => Number(index) <= INDEX_MAX)) return hdPath
  throw badOption(`--hd-path expects a path such as ${HD_PATH}.`)
}

/**
 * Opens the account, with native signing if available.
 * @throws Refusal that says how to proceed and never shows the secret
 */
export async function openAccount(
  source: KeySource,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<LocalAccount> {
  const key = await readKey(source, environment)
  try {
    return await nativeAccount(key)
  } catch (error) {
    if (!isTxlaneError(error) || error.code !== 'INVALID') throw error
    throw new Refusal(`${placeOf(source)} holds 32 bytes that are no private key of secp256k1.`)
  }
}

function placeOf(source: KeySource): string {
  return 'path' in source ? source.path : `The environment variable ${source.name}`
}

async function readKey(
  source: KeySource,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Hex> {
  switch (source.kind) {
    case 'environment': {
      const key = keyOf(environment[source.name])
      if (key) return key
      // If the variable is not set, its name may be the key itself.
      const isShown = source.name === KEY_ENV || environment[source.name] !== undefined
      const variable = isShown ? source.name : 'that --key-env names'
      if (environment[source.name]?.trim() === '')
        throw new Refusal(`The environment variable ${variable} is empty: it should hold the private key.`)
      throw new Refusal(
        `The environment variable ${variable} holds no private key (32 bytes of hex). Other sources are --key-file, --keystore and --mnemonic-file.`,
      )
    }
    case 'file': {
      const key = keyOf(await readSecret('--key-file', source.path))
      if (key) return key
      throw new Refusal(`${source.path} holds no private key (32 bytes of hex).`)
    }
    case 'keystore':
      return openKeystore(source)
    case 'mnemonicInEnvironment': {
      const words = environment[source.name]
      if (words === undefined)
        throw new Refusal('The environment variable that --mnemonic-env names is not set.')
      return keyOfMnemonic(words, source.hdPath, `The environment variable ${source.name}`)
    }
    case 'mnemonicInFile':
      return keyOfMnemonic(await readSecret('--mnemonic-file', source.path), source.hdPath, source.path)
    default:
      return source satisfies never
  }
}

/** The private key that the text is, with or without 0x; undefined for any other text. */
export function keyOf(text: string | undefined): Hex | undefined {
  const digits = text?.trim().replace(/^0x/i, '') ?? ''
  const key = `0x${digits}`
  return digits.length === 64 && isHex(key, { strict: true }) ? key : undefined
}

type KeystorePlace = { readonly path: string; readonly passwordFile: string | undefined }

/** Decrypts the key of a keystore file (Web3 Secret Storage, version 3; scrypt or PBKDF2). @throws Refusal */
async function openKeystore({ path, passwordFile }: KeystorePlace): Promise<Hex> {
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

/** The derivation path of a mnemonic's first account (BIP-44, coin 60), as used by wallets and devnets. */
const HD_PATH = "m/44'/60'/0'/0/0"

/**
 * Derives the key of a mnemonic at a path: 12 to 24 words of the English BIP-39 list, without a passphrase.
 *
 * @param place name of the source for error messages; no error shows a word of the mnemonic
 * @throws Refusal
 */
async function keyOfMnemonic(words: string, hdPath: string, place: string): Promise<Hex> {
  const { HDNodeWallet, Mnemonic } = await import('ethers')
  const phrase = words.trim().toLowerCase().split(/\s+/).join(' ')
  try {
    return HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(phrase), hdPath).privateKey as Hex
  } catch (error) {
    // ethers reports the violated rule, and the position of an invalid word instead of the word.
    const { shortMessage } = error as { shortMessage?: unknown }
    const why = typeof shortMessage === 'string' ? shortMessage : 'it cannot be read'
    throw new Refusal(`${place} holds no mnemonic (12 to 24 English words, BIP-39): ${why}.`)
  }
}

/** The option that names the file. */
type FileOption = '--key-file' | '--keystore' | '--mnemonic-file' | '--password-file'

/**
 * Reads a secret, and refuses a file that other users may read. Windows has no file modes.
 * @throws Refusal
 */
async function readSecret(option: FileOption, path: string): Promise<string> {
  const mode = await fileMode(option, path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    throw new Refusal(`${path} has the mode ${shown}: others may read it. Run: chmod 600 ${path}`)
  }
  return contents(path)
}

/** Reads a file that other users may read. @throws Refusal */
async function readPublic(option: FileOption, path: string): Promise<string> {
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
