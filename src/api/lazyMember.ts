import type { LocalAccount } from 'viem'
import { printedAs } from '../lane/transaction/printedAs.js'
import type { Sender } from '../types/index.js'
import type { Member } from './sender/member.js'

/** Makes the senders of one chain. */
export type Maker = {
  readonly chain: Sender['chain']
  /** Makes a sender. `closed` is called once that sender has closed. */
  make(account: LocalAccount, closed: () => void): Member
  /** Called after a sender was made. The returned function is called once that sender has closed. */
  made(sender: Sender): () => void
  /** True once nothing may be sent any more: a sender that is made after that is closed at once. */
  readonly closed: boolean
}

/** A sender that is made when one of its methods is first used. Until then it costs no more than its account. */
export type LazyMember = {
  readonly sender: Sender
  /** Makes the sender if it does not exist yet. */
  made(): Member
  /** Undefined if the sender was never made. */
  readonly member: Member | undefined
}

const METHODS: Record<Exclude<keyof Sender, 'chain' | 'address' | typeof Symbol.asyncDispose>, true> = {
  ready: true,
  send: true,
  writeContract: true,
  deployContract: true,
  sendMany: true,
  sendSequence: true,
  get: true,
  list: true,
  inFlight: true,
  health: true,
  observe: true,
  on: true,
  resolve: true,
  snapshot: true,
  resync: true,
  pause: true,
  setFees: true,
  resume: true,
  drain: true,
  close: true,
}

export function createLazyMember(maker: Maker, account: LocalAccount): LazyMember {
  return new Lazy(maker, account)
}

class Lazy implements LazyMember {
  readonly sender: Sender
  readonly #maker: Maker
  readonly #account: LocalAccount
  #member: Member | undefined

  constructor(maker: Maker, account: LocalAccount) {
    this.#maker = maker
    this.#account = account
    this.sender = new LazySender(this) as unknown as Sender
  }

  get member() {
    return this.#member
  }

  get chain() {
    return this.#maker.chain
  }

  get address() {
    return this.#account.address
  }

  made(): Member {
    if (this.#member === undefined) {
      let off = () => {}
      this.#member = this.#maker.make(this.#account, () => off())
      off = this.#maker.made(this.sender)
      if (this.#maker.closed) void this.#member.sender.close()
    }
    return this.#member
  }
}

/** Returns the methods of the real sender, so that callers can detach them and pass them on. */
class LazySender {
  readonly #lazy: Lazy

  constructor(lazy: Lazy) {
    this.#lazy = lazy
  }

  static {
    for (const name of Object.keys(METHODS) as (keyof typeof METHODS)[]) {
      Object.defineProperty(LazySender.prototype, name, {
        get(this: LazySender) {
          return this.#lazy.made().sender[name]
        },
      })
    }
    printedAs(LazySender.prototype, function shown(this: LazySender) {
      return { chainId: this.chain.id, address: this.address }
    })
  }

  get chain() {
    return this.#lazy.chain
  }

  get address() {
    return this.#lazy.address
  }

  get [Symbol.asyncDispose]() {
    return this.#lazy.made().sender[Symbol.asyncDispose]
  }
}
