import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'

// Keys that development nodes print. Money that is sent to one of them, or kept there, is gone within seconds.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MNEMONIC = 'test test test test test test test test test test test junk'
const accounts = Array.from({ length: 10 }, (_, addressIndex) =>
  mnemonicToAccount(MNEMONIC, { addressIndex }),
)
const keys = accounts.map((account) => toHex(account.getHdKey().privateKey ?? new Uint8Array()))
const addresses = accounts.map(({ address }) => address.toLowerCase())
const LOCAL_CHAINS: ReadonlySet<string> = new Set(['anvil', 'foundry', 'hardhat', 'localhost'])

/** Programs, and each piece of code in a page: a reader copies it as it stands. */
const pieces = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs', 'examples']
  .flatMap((place) => filesIn(join(ROOT, place)))
  .flatMap((path) => {
    const text = readFileSync(path, 'utf8')
    const parts = path.endsWith('.md')
      ? [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([part]) => part)
      : [text]
    return parts.map((part) => ({ name: relative(ROOT, path), text: part.toLowerCase() }))
  })

it('no piece of code has a public key or mnemonic beside a chain with money', () => {
  const risky = pieces.filter(
    ({ text }) => isPublic(text) && chainsIn(text).some((name) => !LOCAL_CHAINS.has(name)),
  )
  expect(pieces.length).toBeGreaterThan(100)
  expect(pieces.some(({ text }) => isPublic(text))).toBe(true)
  expect(risky.map(({ name }) => name)).toEqual([])
})

it('no example pays an account whose key is public', () => {
  expect(
    pieces.filter(({ text }) => addresses.some((one) => text.includes(one))).map(({ name }) => name),
  ).toEqual([])
})

function isPublic(text: string): boolean {
  return text.includes(MNEMONIC) || keys.some((key) => text.includes(key.slice(2)))
}

function chainsIn(text: string): readonly string[] {
  const names = [...text.matchAll(/import (?:type )?\{([^}]*)\} from 'viem\/chains'/g)].flatMap(
    ([, list = '']) => list.split(','),
  )
  const all = /import \* as \w+ from 'viem\/chains'/.test(text) ? ['all of them'] : []
  return [...names.map((name) => name.trim()), ...all]
}

function filesIn(path: string): readonly string[] {
  if (!existsSync(path) || /node_modules|\/dist$/.test(path)) return []
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => filesIn(join(path, name)))
  return /\.(?:md|ts|csv|json|ya?ml|sh)$/.test(path) ? [path] : []
}
