import type { Hex, LocalAccount } from 'viem'
import type { Random } from '../../src/platform/clock.js'
import { between, chance, pick } from '../sim/random.js'
import type { NodeFlags, Sequence, Step } from './sequence.js'
import { accountsOf, type Fees, signed, type Unsigned } from './signing.js'

/** The limits are small, so that every limit is reached within a few steps. */
export function drawFlags(random: Random): NodeFlags {
  // If many accounts stay within their shares, nothing is cut, and prices decide which account gets a slot.
  const isCrowded = chance(random, 0.5)
  return {
    limits: {
      accountSlots: isCrowded ? 4 : between(random, 1, 4),
      globalSlots: between(random, 3, isCrowded ? 8 : 24),
      accountQueue: between(random, 1, 8),
      globalQueue: between(random, 1, isCrowded ? 6 : 16),
      priceBump: pick(random, [10, 10, 10, 1, 25]),
    },
    tipWeiMin: pick(random, [1, 1, 1_000]),
    noLocals: chance(random, 0.5),
  }
}

type Sent = { raw: Hex; fees: Fees }

/** The generator's record of an account: its used nonces and their transactions. */
type Sender = { readonly account: LocalAccount; readonly sent: Map<number, Sent>; next: number }

const GWEI = 10n ** 9n
export const FUNDS_WEI = 10n ** 18n

/** The repetitions are weights. */
const KINDS = [
  ...['next', 'next', 'next', 'next', 'next', 'next', 'gap', 'gap', 'gap', 'fill', 'fill', 'fill'],
  ...['replace', 'replace', 'replace', 'replace', 'again', 'cheap', 'used', 'dear', 'dear', 'gas'],
  ...['delegate', 'outside', 'outside', 'outside', 'block', 'block', 'mine', 'mine', 'tipMin', 'rewind'],
] as const

type Kind = 'next' | 'gap' | 'fill' | 'replace' | 'again' | 'cheap' | 'used' | 'dear' | 'gas' | 'delegate'

/** The whole sequence follows from the seed: the same bytes in the same order. */
export async function drawSequence(options: {
  readonly random: Random
  readonly name: string
  readonly chainId: number
  readonly steps: number
  readonly flags: NodeFlags
}): Promise<Sequence> {
  const { random, name, chainId, flags } = options
  const senders: Sender[] = accountsOf(name, between(random, 1, 8)).map((account) => ({
    account,
    sent: new Map(),
    next: 0,
  }))
  let serial = 0

  /** Never the same fee twice: between equal prices Go's random map order decides. */
  function fees(): Fees {
    serial++
    const maxFeePerGas = BigInt(between(random, 1, 60)) * (GWEI / 4n) + BigInt(serial)
    const tip = pick(random, [GWEI / 8n, GWEI, maxFeePerGas]) + BigInt(serial)
    return { maxFeePerGas, maxPriorityFeePerGas: tip > maxFeePerGas ? maxFeePerGas : tip }
  }

  async function send(sender: Sender, fields: Omit<Unsigned, keyof Fees> & Partial<Fees>): Promise<Step> {
    const all = { ...fees(), ...fields }
    const raw = await signed(sender.account, chainId, all)
    sender.sent.set(all.nonce, { raw, fees: all })
    sender.next = Math.max(sender.next, all.nonce + 1)
    return { kind: 'send', raws: [raw] }
  }

  async function sendOf(kind: Kind): Promise<Step> {
    const sender = pick(random, senders)
    const { next } = sender
    const old = anySent(random, sender)
    switch (kind) {
      case 'gap':
        return send(sender, { nonce: next + between(random, 1, 5) })
      case 'fill':
        return send(sender, { nonce: missing(sender) })
      case 'replace':
        if (old === undefined) break
        return send(sender, {
          nonce: old,
          ...raised(random, flags.limits.priceBump, (sender.sent.get(old) as Sent).fees),
        })
      case 'again':
        if (old === undefined) break
        return { kind: 'send', raws: [(sender.sent.get(old) as Sent).raw] }
      case 'cheap': {
        const tip = BigInt(pick(random, [0, Math.max(0, flags.tipWeiMin - 1)]))
        return send(sender, { nonce: next, maxPriorityFeePerGas: tip })
      }
      case 'used':
        return send(sender, { nonce: Math.max(0, missing(sender) - between(random, 1, 3)) })
      case 'dear':
        return send(sender, { nonce: next, value: pick(random, [FUNDS_WEI, FUNDS_WEI / 2n, FUNDS_WEI / 3n]) })
      case 'gas':
        return send(sender, { nonce: next, gas: pick(random, [20_999n, 16_777_217n, 30_000_000n, 30_000n]) })
      case 'delegate': {
        const by = pick(random, senders)
        const nonce = by === sender ? next + 1 : missing(by)
        return send(sender, { nonce: next, authority: { account: by.account, nonce } })
      }
    }
    return send(sender, { nonce: next })
  }

  /**
   * An account whose nonces are used in blocks by transactions that the pool has never seen. Its pooled
   * transactions pay too little for any block, so that its nonce on the chain is known here.
   */
  const outsider: Sender = {
    account: accountsOf(`${name}, outside`, 1)[0] as LocalAccount,
    sent: new Map(),
    next: 0,
  }
  /** The outsider's nonce after each block. */
  const mined = [0]

  async function sendOutside(): Promise<Step> {
    serial++
    const feeWei = BigInt(flags.tipWeiMin + serial)
    const nonce = (mined.at(-1) as number) + between(random, 0, 4)
    return send(outsider, { nonce, maxFeePerGas: feeWei, maxPriorityFeePerGas: feeWei })
  }

  async function mine(): Promise<Step> {
    const first = mined.at(-1) as number
    const count = between(random, 0, 2)
    const raws: Hex[] = []
    for (let nonce = first; nonce < first + count; nonce++) {
      raws.push(await signed(outsider.account, chainId, { ...fees(), nonce, maxFeePerGas: 40n * GWEI }))
    }
    mined.push(first + count)
    return { kind: 'block', transactions: raws }
  }

  const steps: Step[] = []
  while (steps.length < options.steps) {
    const kind = pick(random, KINDS)
    if (kind === 'block') {
      steps.push({ kind })
      mined.push(mined.at(-1) as number)
    } else if (kind === 'mine') steps.push(await mine())
    else if (kind === 'outside') steps.push(await sendOutside())
    else if (kind === 'tipMin')
      steps.push({ kind, wei: pick(random, [1, 1, 1, 1, 1_000, Number(GWEI / 2n)]) })
    else if (kind === 'rewind') {
      const blocks = Math.min(mined.length - 1, between(random, 1, 2))
      mined.splice(mined.length - blocks)
      if (blocks > 0) steps.push({ kind, blocks })
    } else steps.push(await sendOf(kind))
  }
  const accounts = [...senders, outsider].map(({ account }) => account.address)
  return { name, accounts, steps }
}

/** Fees at, just below and just above the price bump of the pool; the two fees are raised independently. */
function raised(random: Random, priceBump: number, old: Fees): Fees {
  const bump = BigInt(priceBump)
  const by = (fee: bigint) => {
    const least = (fee * (100n + bump)) / 100n
    return pick(random, [
      fee,
      fee + 1n,
      (fee * 109n) / 100n,
      least && least - 1n,
      least,
      least + 1n,
      fee * 2n,
    ])
  }
  const maxFeePerGas = by(old.maxFeePerGas)
  const tip = by(old.maxPriorityFeePerGas)
  return { maxFeePerGas, maxPriorityFeePerGas: tip > maxFeePerGas ? maxFeePerGas : tip }
}

/** The lowest nonce that the account has not used. */
function missing(sender: Sender): number {
  let nonce = 0
  while (sender.sent.has(nonce)) nonce++
  return nonce
}

function anySent(random: Random, sender: Sender): number | undefined {
  const nonces = [...sender.sent.keys()]
  return nonces.length === 0 ? undefined : pick(random, nonces)
}
