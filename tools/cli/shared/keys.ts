import type { Command } from 'commander'
import { type Hex, isHex, type LocalAccount } from 'viem'
import { nativeAccount } from '../../../src/signer/index.js'
import { badOption } from './commandLine.js'
import { type KeystorePlace, openKeystore } from './keystore.js'
import { HD_PATH, keyOfMnemonic } from './mnemonic.js'
import { Refusal } from './program.js'
import { readSecret } from './secretFile.js'

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
  return nativeAccount(await readKey(source, environment))
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
