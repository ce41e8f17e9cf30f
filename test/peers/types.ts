import type { Address, Chain, Hex, LocalAccount } from 'viem'
import type { Devnet, DevnetOptions, Faults } from '../../tools/devnet/index.js'

/**
 * A payment that a caller wants once. Its content (`to`, `data`, `value`) is unique, so that the chain
 * identifies it.
 */
export type Payment = {
  readonly to?: Address
  readonly data?: Hex
  readonly value: bigint
  /** Missing if the sender must estimate it. */
  readonly gas?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
}

/** Every sender has the sealed stage; `preconfirmed` is the earliest sight of it that the sender offers. */
export type SentStage = 'preconfirmed' | 'sealed'

/** A payment that a node has accepted according to the sender. */
export type Sent = {
  readonly hash: Hex
  /**
   * The sender's own way to wait for the end; the hash is that of its receipt. Rejects as the sender does.
   */
  wait(stage: SentStage): Promise<{ readonly hash: Hex }>
  /** Offers more for the same payment, as the sender's documentation describes. */
  readonly speedUp?: () => Promise<unknown>
}

/** A working sender, in its documented use, with its defaults. */
export type Driver = {
  /** For senders that read the chain before their first payment. */
  readonly ready?: () => Promise<void>
  /** `id` is for senders with idempotency keys. Rejects as the sender does. */
  send(payment: Payment, id: string): Promise<Sent>
  /** Makes the sender read the chain again, if it can. */
  readonly resync?: () => Promise<void>
  close(): Promise<void>
}

export type Offer = 'speedUp'

/** A library under test. */
export type Subject = {
  readonly name: string
  /** The name of the installed npm package. */
  readonly package: string
  readonly offers: readonly Offer[]
  open(world: World): Driver
}

/** A transaction of the account in the pool. */
export type Pooled = { readonly hash: Hex; readonly nonce: number }

/** A separate chain for one run, and one account on it. */
export type World = {
  readonly devnet: Devnet
  readonly url: string
  readonly chain: Chain
  readonly account: LocalAccount
  readonly privateKey: Hex
  readonly firstNonce: number
  readonly faults: Faults
  /** Stops making blocks; resolves when none is being made. */
  hold(): Promise<void>
  /** Makes blocks again. */
  release(): void
  /** Resolves after this many ticks: a tick makes a flashblock, or none while blocks are held. */
  ticks(count: number): Promise<void>
  /**
   * Checks once per tick until `holds` returns true, a limited number of times. Resolves to the last result.
   */
  until(holds: () => boolean | Promise<boolean>): Promise<boolean>
  pooled(): Promise<readonly Pooled[]>
  /** The number of calls so far that carried a transaction to the node. */
  sends(): number
  /** The number of all calls so far. */
  calls(): number
}

/** The sender's answer to a payment so far. */
export type SenderAnswer =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'accepted'; readonly hash: Hex }
  | { readonly kind: 'landed'; readonly hash: Hex }
  /** `send` failed. `open`: the error itself says that the payment may still run. */
  | { readonly kind: 'refused'; readonly why: string; readonly open: boolean }
  /** `wait` failed after the payment had been accepted. */
  | { readonly kind: 'gaveUp'; readonly why: string }

/** A requested payment. */
export type Asked = {
  readonly item: number
  readonly payment: Payment
  /** Resolves, and never rejects, when `send` settles: to the handle, or to undefined if it was refused. */
  readonly sent: Promise<Sent | undefined>
  /** The same for the end. */
  readonly ended: Promise<void>
  readonly reported: () => SenderAnswer
}

/** The source of a bug report. */
export type Source = {
  /** `owner/name#number` of an issue or pull request, or `owner/name path`. */
  readonly where: string
  /** A sender without an npm package, which therefore cannot run beside the others. */
  readonly notAPackage?: true
}

/** The tools of a scenario. */
export type Stage = {
  readonly world: World
  readonly driver: Driver
  /** Requests a payment. Does not wait. */
  pay(fields?: PaymentFields): Asked
  /** Requests the same payment once more, as a caller does after an error. */
  payAgain(asked: Asked): void
  /** Opens another sender of the same kind for the same account. */
  open(): Driver
  /** Adds a fault that the chain does not show. */
  find(words: string): void
}

export type PaymentFields = Partial<Payment> & {
  /** The driver to use. @default the stage's first */
  readonly by?: Driver
}

export type Scenario = {
  readonly name: string
  /** The fault, described in one sentence. */
  readonly about: string
  readonly seenIn: readonly Source[]
  readonly needs?: Offer
  /** The number of earlier transactions of the account. @default 5 */
  readonly nonce?: number
  readonly chain?: DevnetOptions
  /** The sender is not prepared before the run, because the scenario is about its start. */
  readonly cold?: true
  /** The number of payments that may be refused, if the caller gets an error. @default 0 */
  readonly refusalsMax?: number
  /**
   * Called before the sender is opened. Resolves to payments that were made meanwhile and must run once like
   * all others.
   */
  readonly prepare?: (world: World) => Promise<readonly Payment[]>
  readonly run: (stage: Stage) => Promise<void>
}
