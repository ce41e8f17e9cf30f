import { type Address, type Client, erc20Abi } from 'viem'
import { estimateGas, getBlock, readContract } from 'viem/actions'
import { systemClock } from '../../../../src/platform/clock.js'
import type { Row } from '../file/rows.js'
import type { Disperse } from './contract/contract.js'
import { type Failure, failureOf } from './contract/failure.js'
import { provePayment } from './contract/probe.js'
import type { Judge, Judgement } from './fit.js'
import { packRequest, sumOf } from './payment.js'

/** The most gas of one transaction on Ethereum (EIP-7825). */
const TX_GAS_MAX = 2n ** 24n
/** The state may change until the pack is in a block. */
const MARGIN_PERCENT = 25n
const AGAIN_MS = 1_000
// A full pack takes more room in a transaction than nodes accept (128 KiB of calldata in geth's pool).
export const ROWS_MAX = 1_900

/** Half a block, because a transaction that needs a whole one waits for an empty block; at most 2^24. */
export async function gasLimitOf(client: Client): Promise<bigint> {
  const { gasLimit } = await getBlock(client)
  return gasLimit / 2n < TX_GAS_MAX ? gasLimit / 2n : TX_GAS_MAX
}

export type JudgeOptions = {
  readonly account: Address
  readonly disperse: Disperse
  readonly gasMax: bigint
  readonly stopped: () => boolean
  readonly say: (text: string) => void
}

type Answer = { readonly kind: 'gas'; readonly gas: bigint } | Failure

/**
 * Judges packs by two questions, asked together: a simulation that shows what each recipient gets, and the gas.
 * Lost answers are asked again until the run is stopped, and never held against a row.
 */
export function createJudge(client: Client, options: JudgeOptions): Judge {
  const { account, disperse, gasMax, stopped, say } = options
  let isSaid = false

  async function gasOf(rows: readonly Row[]): Promise<Answer> {
    const [first] = rows
    if (first === undefined) return { kind: 'gas', gas: 0n }
    const request = packRequest(disperse.address, first.money, rows)
    try {
      return { kind: 'gas', gas: await estimateGas(client, { account, ...request }) }
    } catch (error) {
      const failed = failureOf(error)
      if (failed.kind !== 'reverts' || first.money.kind === 'native') return failed
      // Behind a load balancer, one node may not have the block of the approval yet.
      const left = await readContract(client, {
        address: first.money.address,
        abi: erc20Abi,
        functionName: 'allowance',
        args: [account, disperse.address],
      }).catch(() => 0n)
      return left < sumOf(rows) ? { kind: 'unknown', why: 'it does not show the approval' } : failed
    }
  }

  async function once(rows: readonly Row[]): Promise<Judgement | { readonly unknown: string }> {
    const money = rows[0]?.money
    if (money === undefined) return { ok: true, gas: undefined }
    const [proof, answer] = await Promise.all([
      provePayment(client, account, disperse.address, money, rows),
      gasOf(rows),
    ])
    if (answer.kind === 'unknown') return { unknown: answer.why }
    if (proof.kind === 'unknown') return { unknown: proof.why }
    if (answer.kind === 'reverts') return { ok: false, why: answer.why }
    if (proof.kind !== 'exact') return { ok: false, why: proof.why }
    if (!('gas' in answer)) return { ok: true, gas: undefined }
    if (answer.gas > gasMax) return { ok: false, why: `it needs ${answer.gas} gas` }
    const withMargin = (answer.gas * (100n + MARGIN_PERCENT)) / 100n
    return { ok: true, gas: withMargin < gasMax ? withMargin : gasMax }
  }

  return async (rows) => {
    for (;;) {
      const judged = await once(rows)
      if (!('unknown' in judged)) return judged
      if (stopped()) return { ok: true, gas: undefined }
      if (!isSaid) say(`The node does not estimate the gas of a pack: ${judged.unknown}. Trying again.`)
      isSaid = true
      await new Promise<void>((resolve) => void systemClock.setTimer(resolve, AGAIN_MS))
    }
  }
}
