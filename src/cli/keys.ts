import { readFile, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { type Hex, isHex, type LocalAccount } from 'viem'
import { nativeAccount } from '../signer/index.js'
import { badOption } from './commandLine.js'
import { Refusal } from './program.js'

/** Where a command finds the key. Never the key itself: what stands in the command line is seen by everybody. */
export type KeySource =
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'keystore'; readonly path: string; readonly passwordFile: string | undefined }

export type KeyFlags = {
  readonly keyEnv?: string
  readonly keyFile?: string
  readonly keystore?: string
  readonly passwordFile?: string
}

const KEY_ENV = 'TXLANE_PRIVATE_KEY'

export function keyFlags(command: Command): Command {
  return command
    .option('--key-env <name>', `environment variable that holds the private key (default: ${KEY_ENV})`)
    .option('--key-file <path>', 'file with the private key, readable by its owner only (mode 0600)')
    .option('--keystore <path>', 'encrypted keystore file; its password is asked for')
    .option(
      '--password-file <path>',
      'file with the password of the keystore (mode 0600), in place of the prompt',
    )
}

/** @throws badOption where two places are named, or where a name looks like a key */
export function keySource(flags: KeyFlags): KeySource {
  const { keyEnv, keyFile, keystore, passwordFile } = flags
  const places = { '--key-env': keyEnv, '--key-file': keyFile, '--keystore': keystore }
  const named = Object.entries(places).filter(([, place]) => place !== undefined)
  if (named.length > 1) throw badOption('Give one of --key-env, --key-file and --keystore.')
  if (passwordFile !== undefined && keystore === undefined)
    throw badOption('--password-file is for --keystore.')
  for (const [option, place] of named)
    if (/[0-9a-f]{64}/i.test(place ?? ''))
      throw badOption(`${option} names the place of the key. A key is never an argument.`)
  if (keyFile !== undefined) return { kind: 'file', path: keyFile }
  if (keystore !== undefined) return { kind: 'keystore', path: keystore, passwordFile }
  return { kind: 'environment', name: keyEnv ?? KEY_ENV }
}

/** The account, signing natively where it can. @throws Refusal that says what to do, and never shows what it read */
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
      // A name under which nothing is set may be the key itself.
      const isShown = source.name === KEY_ENV || environment[source.name] !== undefined
      const variable = isShown ? source.name : 'that --key-env names'
      throw new Refusal(
        `The environment variable ${variable} holds no private key (32 bytes of hex). --key-file and --keystore are the other places for it.`,
      )
    }
    case 'file': {
      const key = keyOf(await secret('--key-file', source.path))
      if (key) return key
      throw new Refusal(`${source.path} holds no private key (32 bytes of hex).`)
    }
    case 'keystore':
      return decrypt(source)
    default:
      return source satisfies never
  }
}

function keyOf(text: string | undefined): Hex | undefined {
  const digits = text?.trim().replace(/^0x/i, '') ?? ''
  const key = `0x${digits}`
  return digits.length === 64 && isHex(key, { strict: true }) ? key : undefined
}

type FileOption = '--key-file' | '--keystore' | '--password-file'

/** @throws Refusal where it is no file. Its name is not shown then: the secret itself may have been given for it */
async function fileMode(option: FileOption, path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile()) return found.mode
  throw new Refusal(
    `${option} expects the path of a file, and there is none. What was given is not shown: it may be a secret.`,
  )
}

/** A secret that others on the machine may read is none. Windows has no such modes. */
async function secret(option: FileOption, path: string): Promise<string> {
  const mode = await fileMode(option, path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    throw new Refusal(`${path} has the mode ${shown}: others may read it. Run: chmod 600 ${path}`)
  }
  return contents(path)
}

function contents(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw new Refusal(`${path} cannot be read.`)
  })
}

async function decrypt({ path, passwordFile }: Extract<KeySource, { kind: 'keystore' }>): Promise<Hex> {
  const { decryptKeystoreJson, isKeystoreJson } = await import('ethers')
  await fileMode('--keystore', path)
  const text = await contents(path)
  if (!isKeystoreJson(text))
    throw new Refusal(`${path} is no keystore (version 3, as geth and foundry write it).`)
  const password =
    passwordFile === undefined
      ? await askSecret(`Password of ${path}: `)
      : (await secret('--password-file', passwordFile)).trimEnd()
  try {
    return (await decryptKeystoreJson(text, password)).privateKey as Hex
  } catch {
    throw new Refusal(`The password does not open ${path}.`)
  }
}

/** What is typed is not shown. @throws Refusal where there is nobody to ask */
async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Refusal('There is no terminal to ask for the password: give --password-file.')
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}

/** Yes or no, from a person. @throws Refusal where there is none: `instead` says which option stands for the answer */
export async function confirm(question: string, instead: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new Refusal(`There is no terminal to ask at: give ${instead} to go on without a question.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
