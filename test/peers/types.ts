import type { Address, Chain, Hex, LocalAccount } from 'viem'
import type { Devnet, DevnetOptions, Faults } from '../../tools/devnet/index.js'

/** What a caller wants to happen once. What it carries (`to`, `data`, `value`) is unique to it, so that the chain tells. */
export type Payment = {
  readonly to?: Address
  readonly data?: Hex
  readonly value: bigint
  /** Absent where the sender shall estimate it. */
  readonly gas?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
}

/** The sealed stage is what every sender has; `preconfirmed` is the first sight of it that the sender can give. */
export type SentStage = 'preconfirmed' | 'sealed'

/** A payment that the sender says a node has taken. */
export type Sent = {
  readonly hash: Hex
  /** The sender's own way to learn of the end; the hash is that of the receipt it gives. Rejects as the sender does. */
  wait(stage: SentStage): Promise<{ readonly hash: Hex }>
  /** Offers more for the same payment, in the way the sender's documentation says. */
  readonly speedUp?: () => Promise<unknown>
}

/** One sender at work, in its documented use, with its defaults. */
export type Driver = {
  /** For senders that read the chain before their first payment. */
  readonly ready?: () => Promise<void>
  /** `id` is for senders that know idempotency keys. Rejects as the sender does. */
  send(payment: Payment, id: string): Promise<Sent>
  /** Tells the sender to look at the chain again, where it can be told. */
  readonly resync?: () => Promise<void>
  close(): Promise<void>
}

export type Offer = 'speedUp'

/** A library under test. */
export type Subject = {
  readonly name: string
  /** The npm package, as installed. */
  readonly package: string
  readonly offers: readonly Offer[]
  open(world: World): Driver
}

/** A transaction of the account in the pool. */
export type Pooled = { readonly hash: Hex; readonly nonce: number }

/** A chain of its own for one run, and one account on it. */
export type World = {
  readonly devnet: Devnet
  readonly url: string
  readonly chain: Chain
  readonly account: LocalAccount
  readonly privateKey: Hex
  readonly firstNonce: number
  readonly faults: Faults
  /** Stops making blocks; resolves when none is under way. */
  hold(): Promise<void>
  /** Makes blocks again. */
  release(): void
  /** Resolves after so many ticks: a tick makes a flashblock, or none while blocks are held. */
  ticks(count: number): Promise<void>
  /** Looks once a tick until it holds, a bounded number of times. Resolves to whether it does. */
  until(holds: () => boolean | Promise<boolean>): Promise<boolean>
  pooled(): Promise<readonly Pooled[]>
  /** Calls that carried a transaction to the node so far. */
  sends(): number
  /** All calls so far. */
  calls(): number
}

/** How the sender answered a payment, as far as it has. */
export type Told =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'accepted'; readonly hash: Hex }
  | { readonly kind: 'landed'; readonly hash: Hex }
  /** `send` failed. `open`: the error itself says that the payment may still run. */
  | { readonly kind: 'refused'; readonly why: string; readonly open: boolean }
  /** `wait` failed after the payment had been accepted. */
  | { readonly kind: 'gaveUp'; readonly why: string }

/** A payment that was asked for. */
export type Asked = {
  readonly item: number
  readonly payment: Payment
  /** Resolves, and never rejects, when `send` has: to the handle, or to undefined when it was refused. */
  readonly sent: Promise<Sent | undefined>
  /** Likewise for the end. */
  readonly ended: Promise<void>
  readonly told: () => Told
}

/** Where the behaviour was reported. */
export type Source = {
  /** `owner/name#number` of an issue or pull request, or `owner/name path`. */
  readonly where: string
  /** A sender that npm has no package of, so that it cannot be run beside the others. */
  readonly notAPackage?: true
}

/** What a scenario works with. */
export type Stage = {
  readonly world: World
  readonly driver: Driver
  /** Asks for a payment. Does not wait. */
  pay(fields?: PaymentFields): Asked
  /** Asks for the same payment once more, as a caller does who was told that it failed. */
  payAgain(asked: Asked): void
  /** A further sender of the same kind for the same account. */
  open(): Driver
  /** Something that went wrong and that the chain does not show. */
  find(words: string): void
}

export type PaymentFields = Partial<Payment> & {
  /** The driver to ask. @default the stage's first */
  readonly by?: Driver
}

export type Scenario = {
  readonly name: string
  /** What goes wrong, in one sentence. */
  readonly about: string
  readonly seenIn: readonly Source[]
  readonly needs?: Offer
  /** How many transactions the account has sent before. @default 5 */
  readonly nonce?: number
  readonly chain?: DevnetOptions
  /** The sender is not made ready before the run: the scenario is about its start. */
  readonly cold?: true
  /** Payments that may be refused, as long as the caller is told. @default 0 */
  readonly refusalsMax?: number
  /** Before the sender is opened. Resolves to payments that were made by then and must run once like all others. */
  readonly prepare?: (world: World) => Promise<readonly Payment[]>
  readonly run: (stage: Stage) => Promise<void>
}
