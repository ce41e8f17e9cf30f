import { concat, type Hex, keccak256 } from 'viem'
import { bigint, number, type RpcObject, text } from '../rpc/rpcTypes.js'
import { type ChainView, type Flashblock, headOf, type Opening, type SealedBlock } from './chainView.js'
import { type Deposit, depositsOf } from './deposits.js'
import { nextBaseFee, sealedHeader } from './headers.js'

export type ChainState = {
  view(): ChainView
  /** Adds anvil's next block to the block being built. */
  append(block: RpcObject, logCount: number): Flashblock
  /** Seals the block being built, which must have a flashblock. The result is the new head. */
  seal(): SealedBlock
  /** Hides the block being built: `pending` answers as `latest` until the next flashblock. */
  hide(): void
  /** Removes `depth` sealed blocks and the block being built. Later blocks get different hashes. */
  truncate(depth: number): SealedBlock
  byHash(view: ChainView, hash: string): SealedBlock | undefined
  /** A deposit of the chain and its anvil block, which the view may not contain. */
  deposit(hash: string): DepositAt | undefined
}

export type DepositAt = { readonly deposit: Deposit; readonly index: number; readonly anvilNumber: number }

export type ChainStateOptions = {
  /** anvil's header of the genesis block or the fork block. */
  readonly base: RpcObject
  readonly baseHash: Hex
  readonly blockTimeMs: number
  readonly constantBaseFee: boolean
  /** Whether each block begins with the deposits of Base. */
  readonly hasDeposits: boolean
  /** Returns 32 random bytes, so that two devnets, or two branches, never share a block hash. */
  readonly salt: () => Hex
}

/** Owns the chain's state. Only tasks of the queue change it; readers use views. */
export function createChainState(options: ChainStateOptions): ChainState {
  const { transactions: _, ...header } = options.base
  const baseNumber = number(header, 'number')
  const baseMs = number(header, 'timestamp') * 1_000
  const base: SealedBlock = {
    number: baseNumber,
    hash: options.baseHash,
    lastAnvil: baseNumber,
    timestampMs: baseMs,
    flashblocks: [],
    header: { ...header, hash: options.baseHash },
  }
  const hashes = new Map<string, SealedBlock>([[base.hash, base]])
  const deposits = new Map<string, DepositAt>()
  let salt = options.salt()
  let sealed: SealedBlock[] = [base]
  let view: ChainView = { sealed, length: 1, open: [], opening: openingAfter(base), hidden: false }

  // Timestamps follow the block schedule, not the clock, so that they also advance on a manually stepped
  // chain.
  function openingAfter(parent: SealedBlock): Opening {
    return {
      timestampMs: baseMs + (parent.number + 1 - baseNumber) * options.blockTimeMs,
      baseFeePerGas: options.constantBaseFee
        ? bigint(base.header, 'baseFeePerGas')
        : nextBaseFee(parent.header),
    }
  }

  function openDeposits(): readonly Deposit[] {
    if (!options.hasDeposits || view.open.length > 0) return []
    const height = headOf(view).number + 1 - baseNumber
    return depositsOf({ salt, height, timestampMs: view.opening.timestampMs })
  }

  function forgetDeposits(flashblocks: readonly Flashblock[]): void {
    for (const { hash } of flashblocks.flatMap((one) => one.deposits)) deposits.delete(hash)
  }

  return {
    view: () => view,
    append(block, logCount) {
      const { timestampMs } = view.opening
      const flashblock = flashblockOf(block, logCount, view.open.at(-1), {
        deposits: openDeposits(),
        timestampMs,
      })
      for (const [index, deposit] of flashblock.deposits.entries())
        deposits.set(deposit.hash, { deposit, index, anvilNumber: flashblock.anvilNumber })
      view = { ...view, open: [...view.open, flashblock], hidden: false }
      return flashblock
    },
    seal() {
      const parent = headOf(view)
      const last = view.open.at(-1)!
      const hash = keccak256(concat([salt, last.anvilHash]))
      const header = sealedHeader(parent, view.open, hash)
      const block = {
        number: parent.number + 1,
        hash,
        lastAnvil: last.anvilNumber,
        timestampMs: view.opening.timestampMs,
        flashblocks: view.open,
        header,
      }
      sealed.push(block)
      hashes.set(hash, block)
      view = { sealed, length: sealed.length, open: [], opening: openingAfter(block), hidden: false }
      return block
    },
    hide() {
      view = { ...view, hidden: true }
    },
    truncate(depth) {
      for (const gone of sealed.slice(sealed.length - depth)) {
        hashes.delete(gone.hash)
        forgetDeposits(gone.flashblocks)
      }
      forgetDeposits(view.open)
      // A copy, so that earlier views keep their branch.
      sealed = sealed.slice(0, sealed.length - depth)
      salt = options.salt()
      const head = sealed.at(-1)!
      view = { sealed, length: sealed.length, open: [], opening: openingAfter(head), hidden: false }
      return head
    },
    byHash(at, hash) {
      const block = hashes.get(hash.toLowerCase())
      return block !== undefined && block.number <= headOf(at).number ? block : undefined
    },
    deposit: (hash) => deposits.get(hash.toLowerCase()),
  }
}

function flashblockOf(
  block: RpcObject,
  logCount: number,
  previous: Flashblock | undefined,
  { deposits, timestampMs }: Pick<Flashblock, 'deposits' | 'timestampMs'>,
): Flashblock {
  const { transactions, ...header } = block
  return {
    deposits,
    timestampMs,
    anvilNumber: number(header, 'number'),
    anvilHash: text(header, 'hash'),
    header,
    hashes: transactions as readonly Hex[],
    gasUsed: bigint(header, 'gasUsed'),
    logCount,
    before: {
      transactions: previous ? previous.before.transactions + previous.hashes.length : deposits.length,
      gas: previous
        ? previous.before.gas + previous.gasUsed
        : deposits.reduce((sum, { gasUsed }) => sum + gasUsed, 0n),
      logs: previous ? previous.before.logs + previous.logCount : 0,
    },
  }
}
