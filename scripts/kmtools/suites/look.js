// SPDX-License-Identifier: GPL-2.0-only
// Returns the faults of the page as a list of sentences: elements off-screen, overlapping text,
// small text, low contrast, table columns that scroll out of sight. Only what is displayed now is
// checked.
() => {
	const found = [];
	const width = document.documentElement.clientWidth;
	const describeElement = (element) => {
		const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
		return `<${element.tagName.toLowerCase()}> "${text}"`;
	};
	const isVisible = (element) => element.checkVisibility() && element.getClientRects().length > 0;
	const listVisible = (words) => [...document.querySelectorAll(words)].filter(isVisible);
	const findScrollBox = (element) => element.closest(".scroll, pre");

	// No element may be off-screen, except inside a scrollable box.
	if (document.documentElement.scrollWidth > width)
		found.push(`off-screen: the page is ${document.documentElement.scrollWidth} px wide`);
	for (const element of listVisible("body *")) {
		const box = element.getBoundingClientRect();
		if (findScrollBox(element) && !element.matches(".scroll, pre"))
			continue;
		if (box.width && (box.left < -0.5 || box.right > width + 0.5))
			found.push(`off-screen: ${describeElement(element)} from ${box.left} to ${box.right} px`);
	}

	// Texts may not overlap.
	const doOverlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
		Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2.5;
	const reportOverlaps = (elements, boxes) => {
		for (let i = 0; i < elements.length; i++)
			for (let j = i + 1; j < elements.length; j++)
				if (doOverlap(boxes[i], boxes[j]) && !elements[i].contains(elements[j]) &&
				    !elements[j].contains(elements[i]))
					found.push(`overlap: ${describeElement(elements[i])} and ${describeElement(elements[j])}`);
	};
	for (const svg of listVisible("svg")) {
		const texts = [...svg.querySelectorAll("text")];
		const boxes = texts.map((text) => text.getBoundingClientRect());
		const room = svg.getBoundingClientRect();
		reportOverlaps(texts, boxes);
		texts.forEach((text, i) => {
			if (boxes[i].left < room.left - 1 || boxes[i].right > room.right + 1 ||
			    boxes[i].top < room.top - 1 || boxes[i].bottom > room.bottom + 1)
				found.push(`off-screen: ${describeElement(text)} is partly outside its figure`);
			const size = parseFloat(getComputedStyle(text).fontSize) * room.width / svg.viewBox.baseVal.width;
			if (size < 11)
				found.push(`small: ${describeElement(text)} has a font size of ${size.toFixed(1)} px`);
		});
	}
	const blocks = listVisible("h1, h2, h3, h4, p, li, summary, svg, .scroll, pre, caption, thead th");
	const flat = blocks.filter((block) => !findScrollBox(block) || block.matches(".scroll, pre"));
	reportOverlaps(flat, flat.map((block) => block.getBoundingClientRect()));

	// The contrast of text, also in figures, must be at least 4.5 (WCAG 2, AA).
	const parseColour = (colour) => colour.match(/[\d.]+/g).map(Number);
	const computeLuminance = ([r, g, b]) => [r, g, b].map((part) => part / 255)
		.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
		.reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
	const findBackground = (element) => {
		for (let at = element; at; at = at.parentElement) {
			const colour = parseColour(getComputedStyle(at).backgroundColor);
			if (colour.length < 4 || colour[3] > 0.99)
				return colour;
		}
		return [255, 255, 255];
	};
	for (const element of listVisible("body *")) {
		const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
		if (!own || element.matches("style, title"))
			continue;
		const style = getComputedStyle(element);
		const ink = computeLuminance(parseColour(element.tagName === "text" ? style.fill : style.color));
		const background = computeLuminance(findBackground(element));
		const ratio = (Math.max(ink, background) + 0.05) / (Math.min(ink, background) + 0.05);
		if (ratio < 4.5)
			found.push(`contrast: ${describeElement(element)} has contrast ${ratio.toFixed(2)}`);
	}

	// The first column and the verdict column must stay visible in a table that is scrolled.
	for (const box of listVisible(".scroll")) {
		const few = box.querySelectorAll("thead th").length <= 4 &&
			!box.querySelector("td:not(.n, .v), th[colspan]");
		if (few && box.scrollWidth > box.clientWidth + 1)
			found.push(`column: ${describeElement(box)} has few columns but has to be scrolled`);
		box.scrollLeft = 60;
		const room = box.getBoundingClientRect();
		for (const cell of box.querySelectorAll("th:first-child[scope=row], .v")) {
			const place = cell.getBoundingClientRect();
			if (place.left < room.left - 1 || place.right > room.right + 1)
				found.push(`column: ${describeElement(cell)} is partly outside its table`);
		}
		box.scrollLeft = 0;
	}
	return found;
}
