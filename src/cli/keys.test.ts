import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encryptKeystoreJson } from 'ethers'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
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

test('a key comes from the environment, from a file of its owner alone, or from a keystore', async () => {
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

test('a file that others may read is refused, and its contents are never shown', async () => {
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

test('a key is never an argument, and has one place', () => {
  expect(() => keySource({ keyFile: KEY })).toThrow('--key-file names the place of the key')
  expect(() => keySource({ keyEnv: KEY.slice(2) })).toThrow('--key-env names the place of the key')
  expect(() => keySource({ keyEnv: 'A', keyFile: 'b' })).toThrow('Give one of')
  expect(() => keySource({ passwordFile: 'b' })).toThrow('is for --keystore')
})

test('without a terminal nobody is asked for a password', async () => {
  const keystore = await file(
    'keystore.json',
    await encryptKeystoreJson({ address, privateKey: KEY }, 'x', { scrypt: { N: 2 } }),
    0o600,
  )
  await expect(openAccount(keySource({ keystore }), {})).rejects.toThrow('give --password-file')
})
