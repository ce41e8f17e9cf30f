import { existsSync, readFileSync } from 'node:fs'
import { type Abi, type Address, type Hex, pad, parseAbi, toHex } from 'viem'
import type { Devnet } from '../../tools/devnet/index.js'
import type { Ended } from '../support/ended.js'
import { pause } from '../support/pause.js'

export const BLOCKER = parseAbi(['function block_(address account)'])

export type Code = { readonly abi: Abi; readonly bytecode: Hex }

export async function deployed(on: Devnet, code: Code, account: number): Promise<Address> {
  const client = on.client(account)
  const hash = await client.deployContract({ ...code, args: [] })
  const { contractAddress: address } = await client.waitForTransactionReceipt({ hash })
  // The receipt may be that of a pre-confirmation.
  while ((await client.getCode({ address: address as Address })) === undefined) await pause(50)
  return address as Address
}

let payees = 0

/** Recipients that no other test pays. */
export const fresh = (count: number): readonly Address[] =>
  Array.from({ length: count }, () => pad(toHex(0xfeed_0000 + payees++), { size: 20 }))

/** 1, 2, 3, …: each recipient has another amount. */
export const counting = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index + 1))

type Result = { line: number; status: string; hash?: Hex; feeWei?: string; sharedBy?: number; error?: string }
export const resultsIn = ({ out }: Ended) => (JSON.parse(out) as { results: Result[] }).results
export const statusesIn = (run: Ended) => resultsIn(run).map(({ status }) => status)
/** The pins of a file. */
export const packsIn = (path: string) =>
  (existsSync(`${path}.txlane.packs.jsonl`)
    ? readFileSync(`${path}.txlane.packs.jsonl`, 'utf8').split('\n').slice(0, -1)
    : []
  ).map((line) => JSON.parse(line) as { pack?: string; approval?: string; amount?: string; rows?: string[] })
