import { type Address, type Client, type Hex, size } from 'viem'
import { moneyKey } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import { provePayment } from './contract/probe.js'
import { type Fit, fitPack, type Judge } from './fit.js'
import { gasLimitOf, ROWS_MAX } from './judge.js'
import type { WithContract } from './packing.js'
import { packRequest } from './payment.js'
import { packableBy, unitsOf } from './units.js'

/** The cost of packs, for display before anything is sent. */
export type PackEstimate = {
  readonly contract: Address
  readonly isKnown: boolean
  readonly packs: number
  readonly packedRows: number
  /** One for each token. */
  readonly approvals: number
  /** The rows that are sent alone, because no pack can have them or they fail in a pack. */
  readonly alone: readonly Row[]
  /** The gas of the packs and the approvals. */
  readonly gas: bigint
}

/** The gas of a transaction without calldata. */
const BASE_GAS = 21_000n
const APPROVAL_GAS = 50_000n
// The gas of further packs is extrapolated.
const SIMULATED_MAX = 20

/** Without an approval, a node cannot estimate packs of a token: their gas is that of a simulation. */
export async function estimatePacks(
  client: Client,
  account: Address,
  { disperse, size: asked }: WithContract,
  rows: readonly Row[],
): Promise<PackEstimate> {
  const gasMax = await gasLimitOf(client)
  const { mayPack, planned } = packableBy(rows, asked, [account, disperse.address])
  const approvals = [...planned.keys()].filter((key) => key !== 'native').length
  const alone: Row[] = []
  const gasPerRow = new Map<string, bigint>()
  let [packs, packedRows, gas, most] = [0, 0, APPROVAL_GAS * BigInt(approvals), Math.min(asked, ROWS_MAX)]

  const judge: Judge = async (pack) => {
    const { money } = pack[0] as Row
    const proof = await provePayment(client, account, disperse.address, money, pack)
    if (proof.kind !== 'exact') return { ok: false, why: proof.why }
    const whole = BASE_GAS + calldataGas(packRequest(disperse.address, money, pack).data ?? '0x') + proof.gas
    return whole > gasMax ? { ok: false, why: 'too much gas' } : { ok: true, gas: whole }
  }

  function add(key: string, fit: Fit): void {
    for (const { rows: own, gas: each = 0n } of fit.packs) {
      packs++
      packedRows += own.length
      gas += each
      gasPerRow.set(key, each / BigInt(own.length) + 1n)
    }
    alone.push(...fit.failing.map(({ row }) => row))
    if (fit.failing.length === 0 && fit.packs.length > 1)
      most = Math.max(...fit.packs.map((pack) => pack.rows.length))
  }

  let simulated = 0
  for (const unit of unitsOf(rows, () => most, mayPack)) {
    if (unit.kind === 'alone') {
      alone.push(...unit.rows)
      continue
    }
    const key = moneyKey((unit.rows[0] as Row).money)
    const known = gasPerRow.get(key)
    if (known === undefined || simulated < SIMULATED_MAX) {
      simulated++
      add(key, await fitPack(unit.rows, judge))
      continue
    }
    packs++
    packedRows += unit.rows.length
    gas += known * BigInt(unit.rows.length)
  }
  return { contract: disperse.address, isKnown: disperse.isKnown, packs, packedRows, approvals, alone, gas }
}

/** 4 for a zero byte, and 16 for any other (EIP-2028). */
function calldataGas(data: Hex): bigint {
  let zeros = 0
  for (let at = 2; at < data.length; at += 2) if (data.startsWith('00', at)) zeros++
  return BigInt(4 * zeros + 16 * (size(data) - zeros))
}
