import type { Hex } from 'viem'
import type { SimBlock, View } from './chain/block.js'
import type { After, Item } from './items.js'
import type { Violation } from './oracle.js'
import { programOf } from './program.js'
import { decodeTransaction } from './transaction.js'

/** Checks that no transaction is sent before its predecessors have reached their required stage. */
export type Order = {
  /** Called when the chain begins to show a view; `promised` is true for pre-confirmations. */
  shown(view: View, promised: boolean): void
  /** Called when the subject sends these bytes to a node. */
  sent(raw: Hex): void
  violations(): readonly Violation[]
}

/**
 * The sender is judged by everything that the chain has ever shown: a block that left again could be
 * believed. A block that a node builds from its pool is no pre-confirmation, but false counts can make it
 * look like one (`fooled`). `strike` counts the observed cases.
 */
export function createOrder(
  items: readonly Item[],
  { strike, fooled }: { readonly strike: (what: string) => void; readonly fooled: boolean },
): Order {
  const wanted = new Map(items.flatMap(({ marker, after }) => (after ? [[marker, after] as const] : [])))
  const [shown, sealed] = [new Set<string>(), new Set<string>()]
  const known = new WeakSet<SimBlock>()
  const found: Violation[] = []

  function learn(first: SimBlock): void {
    for (let block: SimBlock | undefined = first; block && !known.has(block); block = block.parent) {
      known.add(block)
      for (const { tx, status } of block.executed) {
        const marker = programOf(tx)?.marker
        for (const name of [`${marker} any`, `${marker} ${status}`]) {
          shown.add(name)
          if (block.sealed) sealed.add(name)
        }
      }
    }
  }

  function judge(marker: number, { markers, status, stage }: After): void {
    const there = stage === 'sealed' ? sealed : shown
    const early = markers.filter((one) => !there.has(`${one} ${status}`))
    strike(`after ${status} ${stage}`)
    if (early.length === 0) return
    found.push({ promise: 'after', marker, text: `sent before ${early.join(', ')} was ${stage} (${status})` })
  }

  return {
    shown({ head, pending }, promised) {
      if (wanted.size === 0) return
      learn(head)
      if (pending && (promised || fooled)) learn(pending)
    },
    sent(raw) {
      const tx = decodeTransaction(raw)
      const marker = tx && programOf(tx)?.marker
      const after = marker === undefined ? undefined : wanted.get(marker)
      if (marker === undefined || after === undefined) return
      wanted.delete(marker)
      judge(marker, after)
    },
    violations: () => found,
  }
}
