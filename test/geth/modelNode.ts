import { type Address, type Hex, recoverAddress, serializeSignature, size } from 'viem'
import type { Random } from '../../src/platform/clock.js'
import { createGethPool } from '../../tools/devnet/geth/gethPool.js'
import { createLocalTracker } from '../../tools/devnet/geth/localTracker.js'
import type { GethHead, PoolTransaction } from '../../tools/devnet/geth/poolTypes.js'
import { costOf, refusedByItself, refusedByRpc, slotsOf } from '../../tools/devnet/pool/poolRules.js'
import { type DecodedTx, decodeTx, type SignatureRow } from '../../tools/devnet/rpc/decode.js'
import { shuffle } from '../sim/random.js'
import {
  type ChainHead,
  type Contents,
  type NodeFlags,
  type PoolView,
  type SendAnswer,
  shortHash,
} from './sequence.js'

type Pooled = PoolTransaction & { readonly hash: Hex; readonly tx: DecodedTx }

/**
 * The model in place of geth: the same bytes in, the same answers out. The caller reports the chain's heads
 * to it.
 */
export type ModelNode = {
  send(raw: Hex): Promise<SendAnswer>
  /** The reorganisation that geth does a moment after its answer. */
  reorganise(): void
  reset(head: ChainHead): void
  setTipMin(wei: bigint): void
  resubmit(): void
  view(): PoolView
}

// Every refusal of geth's pool has this code (`rpc/errors.go`, for an error without a code of its own).
const SERVER_ERROR = -32000

export function createModelNode(options: {
  readonly accounts: readonly Address[]
  readonly chainId: number
  readonly flags: NodeFlags
  readonly head: ChainHead
  /** Draws the order of Go's maps at this step; undefined: the order in which accounts came. */
  readonly mapOrder?: () => Random | undefined
}): ModelNode {
  const { chainId, flags } = options
  const accounts = options.accounts.map((address) => address.toLowerCase())
  let head = headOf(options.head)
  const pool = createGethPool<Pooled>({
    head,
    limits: flags.limits,
    tipWeiMin: BigInt(flags.tipWeiMin),
    mapOrder: (addresses) => drawOrder(addresses, options.mapOrder?.()),
    refuse: ({ tx }, tipWeiMin) => refusedByItself(tx, { chainId, gasLimit: head.gasLimit, tipWeiMin }),
  })
  const tracker = createLocalTracker(pool)
  const sendTo = flags.noLocals ? (tx: Pooled) => pool.add(tx)?.message : tracker.send

  function headOf({ gasLimit, nextBaseFeeWei, accounts: states }: ChainHead): GethHead {
    return {
      gasLimit: BigInt(gasLimit),
      nextBaseFeeWei: BigInt(nextBaseFeeWei),
      account(address) {
        const state = states[accounts.indexOf(address)]
        if (state === undefined) return { nonce: 0, balanceWei: 0n, hasCode: false }
        return { nonce: state.nonce, balanceWei: BigInt(state.balanceWei), hasCode: state.hasCode }
      },
    }
  }

  const contents = (part: (address: string) => readonly Pooled[]): Contents =>
    accounts.map((address) =>
      Object.fromEntries(part(address).map(({ nonce, hash }) => [String(nonce), shortHash(hash)])),
    )

  return {
    async send(raw) {
      const tx = decodeTx(raw)
      if (tx === undefined) throw new Error(`no transaction: ${raw}`)
      const message = refusedByRpc(tx) ?? sendTo(await pooledOf(tx))
      return message === undefined ? tx.hash : { code: SERVER_ERROR, message }
    },
    reorganise: pool.reorganise,
    reset(next) {
      head = headOf(next)
      pool.reset(head)
    },
    setTipMin: pool.setTipMin,
    resubmit() {
      tracker.resubmit((address) => head.account(address).nonce)
      pool.reorganise()
    },
    view: () => ({
      latest: accounts.map((address) => head.account(address).nonce),
      pendingCounts: accounts.map(pool.count),
      pending: contents(pool.pending),
      queued: contents(pool.queued),
    }),
  }
}

function drawOrder(addresses: readonly string[], random: Random | undefined): readonly string[] {
  const drawn = [...addresses]
  if (random !== undefined) shuffle(random, drawn)
  return drawn
}

// A sequence may be played many times, and recovering a signature is most of the work.
const known = new Map<Hex, Promise<Pooled>>()

function pooledOf(tx: DecodedTx): Promise<Pooled> {
  const pooled = known.get(tx.hash) ?? recovered(tx)
  known.set(tx.hash, pooled)
  return pooled
}

async function recovered(tx: DecodedTx): Promise<Pooled> {
  const { hash, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = tx
  const authorities = await Promise.all(tx.authorizations.map(signerOf))
  return {
    tx,
    hash,
    nonce,
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    from: await signerOf(tx.signature),
    costWei: costOf(tx),
    slots: slotsOf(size(tx.raw)),
    authorities: [...new Set(authorities)],
  }
}

async function signerOf({ digest, yParity, r, s }: SignatureRow): Promise<string> {
  const address = await recoverAddress({ hash: digest, signature: serializeSignature({ r, s, yParity }) })
  return address.toLowerCase()
}
