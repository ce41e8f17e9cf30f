import type { Chain } from 'viem'

/**
 * True if one sequencer orders all transactions of the chain. The OP-stack definitions of viem have a fee oracle; any other
 * chain states it in its definition as `custom: { singleSequencer: true }`.
 */
export function hasSingleSequencer({ custom, contracts }: Chain): boolean {
  return custom?.singleSequencer === true || contracts?.gasPriceOracle !== undefined
}
