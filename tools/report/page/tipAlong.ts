import type uPlot from 'uplot'
import { hideTip, showTip } from './tip.js'

/** Shows a tip for the place on the x axis that is under the pointer. */
export function tipAlong(u: uPlot, contentOf: (x: number) => Node | undefined): void {
  u.over.addEventListener('mousemove', ({ clientX, clientY }) => {
    const content = contentOf(u.posToVal(clientX - u.over.getBoundingClientRect().left, 'x'))
    if (content === undefined) hideTip()
    else showTip(content, clientX, clientY)
  })
  u.over.addEventListener('mouseleave', hideTip)
}
