import { readFileSync } from 'node:fs'
import { getBlockByNumber } from '../../src/rpc/methods/getBlockByNumber.js'
import { getBlockReceipts } from '../../src/rpc/methods/getBlockReceipts.js'
import { createCallPort } from '../contract/stubPort.js'
import type { Recording } from './record.js'

export type Raw = Record<string, unknown>

// `recordings/*.json` hold their source. Those of geth, anvil and Hardhat are written by `main.ts`.
export function read<t>(name: string): t {
  return JSON.parse(readFileSync(new URL(`recordings/${name}.json`, import.meta.url), 'utf8')) as t
}
export const nodes = ['geth', 'anvil', 'hardhat'].map((name) => [name, read<Recording>(name)] as const)
export const base = read<{ deposit: Raw; receipt: Raw }>('base')
export const optimism = read<{ block: Raw }>('optimism')

export const answering = (result: unknown) => createCallPort(() => ({ result }))
export const blockOf = async (raw: unknown, block: 'latest' | 'pending' = 'latest') =>
  (await getBlockByNumber(answering(raw), { block })) as unknown as Raw
export const fullOf = async (raw: unknown, block: 'latest' | 'pending' = 'latest') =>
  (await getBlockByNumber(answering(raw), { block, fullTransactions: true })) as unknown as Raw
export const receiptsOf = async (raw: unknown) =>
  (await getBlockReceipts(answering(raw), { block: 'latest' })) as unknown as Raw[]
