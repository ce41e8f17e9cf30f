import type { Hash } from 'viem'
import type { RpcCall, RpcReply } from '../../src/rpc/port.js'
import type { StoredTransaction } from '../../src/types/store.js'
import type { SimBlock } from './chain/block.js'
import type { SimChain } from './chain/simChain.js'
import { isTag, type Tag } from './chain/tags.js'
import type { Violation } from './oracle.js'
import type { Finality } from './tagPlan.js'

/** Holds every report that a block stays with the chain, and with what the endpoints have shown. */
export type FinalityJudge = {
  /** The subject received these answers. */
  answered(calls: readonly RpcCall[], replies: readonly RpcReply[]): void
  /** A process committed a transaction. */
  stored(transaction: StoredTransaction): void
  /** A wait for a tag resolved. */
  reached(marker: number, tag: Tag, hash: Hash): void
  /** A wait for a tag was refused, because the endpoint has no such tag. */
  refused(marker: number, tag: Tag): void
  /** `isBeyond`: a block may have left although it had landed for good, or may look so. */
  violations(isBeyond: boolean): readonly Violation[]
}

export function createFinalityJudge(options: {
  readonly chain: SimChain
  /** Declared by the user. */
  readonly finality: Finality | undefined
  /** True if an endpoint has no such tag. */
  readonly lacks: (tag: Tag) => boolean
  /** False for landed transactions only: a tag some blocks below the head is not what `finalized` promises. */
  readonly isTagJudged: boolean
}): FinalityJudge {
  const { chain, finality, lacks, isTagJudged } = options
  const shown: Record<Tag, number> = { safe: 0, finalized: 0 }
  const landed = new Map<string, { readonly number: number; readonly hash: Hash }>()
  const found: Violation[] = []

  const isOnChain = ({ number, hash }: { readonly number: number; readonly hash: Hash }) =>
    chain.canonical[number]?.hash === hash

  function limitOf(tag: Tag): number {
    // A final block is safe.
    const byTags = Math.max(shown[tag], shown.finalized)
    return Math.max(byTags, finality === undefined ? 0 : declared(chain, finality))
  }

  function check(what: string, tag: Tag, number: number): void {
    if (!isTagJudged || number <= limitOf(tag)) return
    found.push({
      promise: 'finality',
      text: `${what} was ${tag} in block ${number}, and ${limitOf(tag)} is the highest by what was shown or declared`,
    })
  }

  return {
    answered(calls, replies) {
      calls.forEach(({ method, params: [selector] }, index) => {
        const reply = replies[index]
        if (method !== 'eth_getBlockByNumber' || !isTag(selector) || !reply?.ok) return
        const block = chain.canonical[Number((reply.result as { number?: string } | null)?.number)]
        // A block that no branch has is shown by an endpoint that lies.
        if (block?.hash === (reply.result as { hash?: Hash } | null)?.hash)
          shown[selector] = Math.max(shown[selector], block?.number ?? 0)
      })
    },
    stored({ id, stage, verdict, block }) {
      const known = landed.get(id)
      if (known !== undefined && (verdict !== 'landed' || block?.hash !== known.hash)) {
        landed.delete(id)
        found.push({
          promise: 'landed',
          text: `${id} had landed for good in block ${known.number}: taken back`,
        })
      }
      // The operator names no block.
      if (block === undefined) return
      if (verdict === 'landed') landed.set(id, block)
      if (stage === 'safe' || stage === 'finalized') check(id, stage, block.number)
    },
    reached(marker, tag, hash) {
      const block = blockOf(chain, hash)
      if (block !== undefined) return check(`transaction ${marker}`, tag, block.number)
      found.push({ promise: 'finality', marker, text: `reported as ${tag}, and it is on no block` })
    },
    refused(marker, tag) {
      if (!lacks(tag)) found.push({ promise: 'finality', marker, text: `every endpoint has the tag ${tag}` })
    },
    violations(isBeyond) {
      const left = [...landed].filter(([, block]) => !isOnChain(block))
      const all = [
        ...found,
        ...left.map(([id, { number }]): Violation => {
          return { promise: 'landed', text: `${id} had landed for good in block ${number}, which left` }
        }),
      ]
      return isBeyond ? all.filter(({ promise }) => promise !== 'landed') : all
    },
  }
}

/** The highest block that is final by what the user declared. */
function declared({ head, canonical }: SimChain, finality: Finality): number {
  if ('depth' in finality) return head.number - finality.depth
  const until = head.timestampMs - finality.afterMs
  // By whole seconds of the headers, up to a second more.
  return canonical.findLast(({ timestampMs }) => timestampMs <= until + 1_000)?.number ?? 0
}

function blockOf({ head }: SimChain, hash: Hash): SimBlock | undefined {
  let block: SimBlock | undefined = head
  while (block !== undefined && !block.executed.some(({ tx }) => tx.hash === hash)) block = block.parent
  return block
}
