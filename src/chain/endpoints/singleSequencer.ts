import type { Chain } from 'viem'

/**
 * Whether one sequencer orders all transactions of the chain. viem's OP-stack definitions are known by their fee oracle;
 * other chains say it themselves, as `custom: { singleSequencer: true }` in their definition.
 */
export function hasSingleSequencer({ custom, contracts }: Chain): boolean {
  return custom?.singleSequencer === true || contracts?.gasPriceOracle !== undefined
}
