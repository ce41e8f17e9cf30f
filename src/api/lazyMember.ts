import type { LocalAccount } from 'viem'
import { printedAs } from '../lane/transaction/printedAs.js'
import type { Sender } from '../types/index.js'
import type { Member } from './sender/member.js'

/** What all lanes of a chain have in common. */
export type Maker = {
  readonly chain: Sender['chain']
  /** `closed` is called once it has closed. */
  make(account: LocalAccount, closed: () => void): Member
  /** It was made. What this gives back is called once it has closed. */
  made(sender: Sender): () => void
  /** Nothing is sent any more: one that is made now is closed at once. */
  readonly closed: boolean
}

/** A sender that is made as soon as something of it is used. Until then it is an account, for any number of them. */
export type LazyMember = {
  readonly sender: Sender
  /** Makes it, where that was not done yet. */
  made(): Member
  /** Undefined where it was never made. */
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

/** Its methods are those of the sender that is made, so that they can be taken off it and passed on. */
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
