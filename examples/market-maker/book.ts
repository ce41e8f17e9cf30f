import { parseAbi } from 'viem'

export const abi = parseAbi(['function quote(uint256 bid, uint256 ask)'])

/**
 * The least that is a book, in bytes: whatever is called, the two numbers after the selector go to the slots 0 and 1, and
 * slot 2 counts the calls. Anybody may quote there; it is for trying.
 */
export const bytecode = '0x601680600b6000396000f3600435600055602435600155600254600101600255' + '00'
