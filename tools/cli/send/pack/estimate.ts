import { type Address, type Client, type Hex, size } from 'viem'
import { moneyKey } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import type { WithContract } from './packing.js'
import { packRequest } from './payment.js'
import { provePayment } from './probe/probe.js'
import { packableBy, unitsOf } from './units.js'

/** What packs cost, for display before anything is sent. */
export type PackEstimate = {
  readonly contract: Address
  readonly isKnown: boolean
  readonly packs: number
  readonly packedRows: number
  /** One for each token. */
  readonly approvals: number
  /** The rows that no pack can have. */
  readonly alone: readonly Row[]
  /** Of the packs and the approvals. Extrapolated from the first pack of each currency. */
  readonly gas: bigint
}

/** Of a transaction without calldata. */
const BASE_GAS = 21_000n
const APPROVAL_GAS = 50_000n

/** Without an approval, a node cannot estimate packs of a token: their gas is that of a simulation. */
export async function estimatePacks(
  client: Client,
  account: Address,
  { disperse, size: rowsMax }: WithContract,
  rows: readonly Row[],
): Promise<PackEstimate> {
  const { mayPack, planned } = packableBy(rows, rowsMax, [account, disperse.address])
  const units = [...unitsOf(rows, () => rowsMax, mayPack)]
  const packs = units.filter(({ kind }) => kind === 'pack')
  const rowGas = new Map<string, bigint>()
  for (const [key, own] of planned) rowGas.set(key, await gasOf(own.slice(0, rowsMax)))

  async function gasOf(pack: readonly Row[]): Promise<bigint> {
    const { money } = pack[0] as Row
    const proof = await provePayment(client, account, disperse.address, money, pack)
    const { data = '0x' } = packRequest(disperse.address, money, pack)
    const gas = calldataGas(data) + (proof.kind === 'exact' ? proof.gas : 0n)
    return gas / BigInt(pack.length) + 1n
  }

  const approvals = [...planned.keys()].filter((key) => key !== 'native').length
  const gas = packs.reduce((sum, pack) => {
    const key = moneyKey((pack.rows[0] as Row).money)
    return sum + BASE_GAS + (rowGas.get(key) ?? 0n) * BigInt(pack.rows.length)
  }, APPROVAL_GAS * BigInt(approvals))
  return {
    contract: disperse.address,
    isKnown: disperse.isKnown,
    packs: packs.length,
    packedRows: packs.reduce((sum, pack) => sum + pack.rows.length, 0),
    approvals,
    alone: units.filter(({ kind }) => kind === 'alone').flatMap((unit) => unit.rows),
    gas,
  }
}

/** 4 for a zero byte, and 16 for any other (EIP-2028). */
function calldataGas(data: Hex): bigint {
  let zeros = 0
  for (let at = 2; at < data.length; at += 2) if (data.startsWith('00', at)) zeros++
  return BigInt(4 * zeros + 16 * (size(data) - zeros))
}
