import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encryptKeystoreJson } from 'ethers'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keySource, openAccount } from './keys.js'

const KEY = `0x${'4'.repeat(64)}` as const
const { address } = privateKeyToAccount(KEY)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-keys-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function file(name: string, text: string, mode: number): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  await chmod(path, mode)
  return path
}

test('the refusal of 32 bytes that are no key of the curve names their source', async () => {
  for (const bytes of ['0', 'f'])
    await expect(openAccount(keySource({}), { TXLANE_PRIVATE_KEY: bytes.repeat(64) })).rejects.toThrow(
      /^The environment variable TXLANE_PRIVATE_KEY holds 32 bytes that are no private key/,
    )
})

test('reads a key from the environment, from a file that only its owner can read, or from a keystore', async () => {
  expect((await openAccount(keySource({}), { TXLANE_PRIVATE_KEY: KEY })).address).toBe(address)
  expect((await openAccount(keySource({ keyEnv: 'MINE' }), { MINE: KEY.slice(2) })).address).toBe(address)
  const keyFile = await file('key', `${KEY}\n`, 0o600)
  expect((await openAccount(keySource({ keyFile }), {})).address).toBe(address)
  const encrypted = await encryptKeystoreJson({ address, privateKey: KEY }, 'open sesame', {
    scrypt: { N: 2 },
  })
  const keystore = await file('keystore.json', encrypted, 0o644)
  const passwordFile = await file('password', 'open sesame\n', 0o600)
  expect((await openAccount(keySource({ keystore, passwordFile }), {})).address).toBe(address)
  const wrong = await file('wrong', 'open says me', 0o600)
  await expect(openAccount(keySource({ keystore, passwordFile: wrong }), {})).rejects.toThrow('does not open')
})

test('refuses a key file that others may read, and never shows its contents', async () => {
  const open = await file('open', KEY, 0o644)
  await expect(openAccount(keySource({ keyFile: open }), {})).rejects.toThrow(/mode 0644: others may read it/)
  const slip = await file('slip', `${KEY}5`, 0o600)
  const error = await openAccount(keySource({ keyFile: slip }), {}).catch((thrown: Error) => thrown)
  expect((error as Error).message).toContain('holds no private key')
  expect(String((error as Error).stack)).not.toContain('4444')
  await expect(openAccount(keySource({}), {})).rejects.toThrow('TXLANE_PRIVATE_KEY holds no private key')
  await expect(openAccount(keySource({ keyFile: join(folder, 'none') }), {})).rejects.toThrow(
    '--key-file expects the path of a file',
  )
})

test.each(['', ' \n'])('says that a variable is empty (%j), not that its key is wrong', async (empty) => {
  const refused = (flags: Parameters<typeof keySource>[0], name: string) =>
    openAccount(keySource(flags), { [name]: empty }).catch(({ message }: Error) => message)
  expect(await refused({}, 'TXLANE_PRIVATE_KEY')).toBe(
    'The environment variable TXLANE_PRIVATE_KEY is empty: it should hold the private key.',
  )
  expect(await refused({ keyEnv: 'MINE' }, 'MINE')).toContain('MINE is empty: it should hold the private key')
})

test('refuses a key as an argument, and more than one source', () => {
  expect(() => keySource({ keyFile: KEY })).toThrow('--key-file names the place of the key')
  expect(() => keySource({ keyEnv: KEY.slice(2) })).toThrow('--key-env names the place of the key')
  expect(() => keySource({ keyEnv: 'A', keyFile: 'b' })).toThrow('Give one of')
  expect(() => keySource({ passwordFile: 'b' })).toThrow('is for --keystore')
  expect(() => keySource({ mnemonicEnv: WORDS })).toThrow('--mnemonic-env names the place of the key')
  expect(() => keySource({ mnemonicFile: WORDS })).toThrow('--mnemonic-file names the place of the key')
  expect(() => keySource({ mnemonicFile: 'a', keyFile: 'b' })).toThrow('Give one of')
  expect(keySource({ keyFile: 'my folder of keys/the one' })).toMatchObject({ kind: 'file' })
})

const WORDS = 'test test test test test test test test test test test junk'

describe('a mnemonic', () => {
  test('yields the key at the default path or at --hd-path, as viem derives it', async () => {
    const mnemonicFile = await file('words', `  ${WORDS.replaceAll(' ', '\n')}\n`, 0o600)
    for (const flags of [{ mnemonicFile }, { mnemonicEnv: 'MINE' }]) {
      const environment = { MINE: `${WORDS.toUpperCase()} ` }
      const first = await openAccount(keySource(flags), environment)
      expect(first.address).toBe(mnemonicToAccount(WORDS).address)
      const hdPath = "m/44'/60'/2'/0/7"
      const other = await openAccount(keySource({ ...flags, hdPath }), environment)
      expect(other.address).toBe(mnemonicToAccount(WORDS, { path: hdPath }).address)
    }
  })

  test.each([
    [WORDS.replace('junk', 'test'), 'invalid mnemonic checksum'],
    [WORDS.replace('junk', 'gnorm'), 'invalid mnemonic word at index 11'],
    [WORDS.replace(' junk', ''), 'invalid mnemonic length'],
    ['', 'invalid mnemonic length'],
    [KEY, 'invalid mnemonic length'],
  ])('that is invalid is refused with the reason, and none of its words is shown: %s', async (words, why) => {
    const mnemonicFile = await file('words', words, 0o600)
    for (const flags of [{ mnemonicFile }, { mnemonicEnv: 'MINE' }]) {
      const error = await openAccount(keySource(flags), { MINE: words }).catch((thrown: Error) => thrown)
      expect((error as Error).message).toContain(`holds no mnemonic (12 to 24 English words, BIP-39): ${why}`)
      expect(String((error as Error).stack)).not.toMatch(/gnorm|junk|4444/)
    }
  })

  test('is refused in a file that others may read, and in a variable that is not set', async () => {
    const open = await file('words', WORDS, 0o640)
    await expect(openAccount(keySource({ mnemonicFile: open }), {})).rejects.toThrow('others may read it')
    await expect(openAccount(keySource({ mnemonicEnv: 'MINE' }), {})).rejects.toThrow('is not set')
    await expect(openAccount(keySource({ mnemonicFile: join(folder, 'none') }), {})).rejects.toThrow(
      '--mnemonic-file expects the path of a file',
    )
  })

  test.each(['m', '44/60', "m/44'/x", 'm/2147483648', "m/44'/60'/0'/0/", ' m/1', '7'])(
    'is refused with an invalid derivation path: %s',
    (hdPath) => {
      expect(() => keySource({ mnemonicEnv: 'MINE', hdPath })).toThrow('--hd-path expects a path such as')
    },
  )

  test('is required for --hd-path', () => {
    expect(() => keySource({ hdPath: 'm/1' })).toThrow('--hd-path is for --mnemonic-env')
    expect(() => keySource({ keyFile: 'a', hdPath: 'm/1' })).toThrow('--hd-path is for --mnemonic-env')
  })
})

describe('a keystore', () => {
  // The test vector of the Web3 Secret Storage definition for PBKDF2.
  const VECTOR = {
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
      ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
      kdf: 'pbkdf2',
      kdfparams: {
        c: 262_144,
        dklen: 32,
        prf: 'hmac-sha256',
        salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
      },
      mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
    },
    id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
    version: 3,
  }

  async function open(keystoreText: string, password: string) {
    const keystore = await file('keystore.json', keystoreText, 0o644)
    const passwordFile = await file('password', password, 0o600)
    return openAccount(keySource({ keystore, passwordFile }), {})
  }

  test('opens with PBKDF2', async () => {
    const { address } = await open(JSON.stringify(VECTOR), 'testpassword\r\n')
    expect(address).toBe('0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b')
  })

  test('opens with a password that ends with a space', async () => {
    const scrypt = { N: 2 }
    const text = await encryptKeystoreJson({ address, privateKey: KEY }, 'open sesame ', { scrypt })
    expect((await open(text, 'open sesame \n')).address).toBe(address)
    await expect(open(text, 'open sesame\n')).rejects.toThrow('The password does not open')
  })

  test('that is damaged or uses another encryption is not reported as a wrong password', async () => {
    const { crypto } = VECTOR
    const damaged: readonly (readonly [object, string])[] = [
      [{ ...VECTOR, crypto: { ...crypto, cipher: 'aes-256-gcm' } }, 'unsupported cipher'],
      [{ ...VECTOR, crypto: { ...crypto, kdf: 'argon2id' } }, 'unsupported key-derivation function'],
      [{ ...VECTOR, address: '00'.repeat(20) }, 'keystore address/privateKey mismatch'],
    ]
    for (const [keystore, why] of damaged)
      await expect(open(JSON.stringify(keystore), 'testpassword')).rejects.toThrow(
        `is a keystore that cannot be opened: ${why}`,
      )
    await expect(open(JSON.stringify({ ...VECTOR, version: 1 }), 'testpassword')).rejects.toThrow(
      'is no keystore',
    )
  })
})

test('without a terminal the command refuses to prompt for a password', async () => {
  const keystore = await file(
    'keystore.json',
    await encryptKeystoreJson({ address, privateKey: KEY }, 'x', { scrypt: { N: 2 } }),
    0o600,
  )
  await expect(openAccount(keySource({ keystore }), {})).rejects.toThrow('give --password-file')
})
