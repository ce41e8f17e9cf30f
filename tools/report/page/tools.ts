import { short } from '../model/words.js'
import { type Data, nonceOf, type Transaction } from './data.js'
import { element } from './dom.js'

/** A lane selector, if there are several lanes, and a search for a transaction. */
export function drawTools(
  place: HTMLElement,
  data: Data,
  lane: number,
  acts: { readonly showLane: (lane: number) => void; readonly choose: (transaction: Transaction) => void },
): void {
  if (data.lanes.length > 1) place.append(laneChoice(data, lane, acts.showLane))
  place.append(search(data, acts.choose))
}

function laneChoice({ lanes }: Data, lane: number, show: (lane: number) => void): Node {
  const options = lanes.map((name, index) => {
    const [chainId = '', address = ''] = name.split(':')
    return element(
      'option',
      { value: index, selected: index === lane },
      `${short(address)} on chain ${chainId}`,
    )
  })
  const select = element('select', {}, ...options)
  select.addEventListener('change', () => show(Number(select.value)))
  return element('label', {}, 'Lane ', select)
}

function search(data: Data, choose: (transaction: Transaction) => void): Node {
  const input = element('input', {
    type: 'search',
    placeholder: 'id, nonce or hash',
    'aria-label': 'Find a transaction',
  })
  const answer = element('span', { class: 'count', role: 'status' })
  const form = element('form', { role: 'search' }, input, element('button', { type: 'submit' }, 'Find'))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const found = find(data, input.value.trim())
    answer.textContent = found === undefined && input.value !== '' ? 'Not found.' : ''
    if (found) choose(found)
  })
  return element('span', { style: 'display: contents' }, form, answer)
}

/**
 * Finds a transaction by id, hash, nonce or a part of its id. An id takes precedence over a nonce, because
 * ids may be numbers.
 */
export function find({ transactions }: Data, text: string): Transaction | undefined {
  if (text === '') return undefined
  const wanted = text.toLowerCase()
  return (
    transactions.find(({ id }) => id === text) ??
    transactions.find(({ attempts }) => attempts.some(({ hash }) => hash.toLowerCase() === wanted)) ??
    transactions.find((transaction) => String(nonceOf(transaction)) === text) ??
    transactions.find(({ id }) => id.toLowerCase().includes(wanted))
  )
}
