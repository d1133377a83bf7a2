"""A browser that is driven by its keyboard, and what it sees: pictures, accessibility, faults, requests."""

from axe_playwright_python.sync_playwright import Axe

SCREENS = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
SERIOUS = ("serious", "critical")  # findings of axe


class Walker:
    """A page, what it asked of the network, and where pictures of it are kept."""

    def __init__(self, chromium, screen, folder, **context):
        self.page = chromium.new_context(viewport=SCREENS[screen], **context).new_page()
        self.screen, self.folder, self.axe, self.asked, self.faults, self.seen = screen, folder, Axe(), [], [], set()
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def look(self, name):
        """Keep a picture of a kind of page once, and check its accessibility and width."""
        if name in self.seen:
            return
        self.seen.add(name)
        self.page.screenshot(path=self.folder / f"humans_{name}_{self.screen}.png", full_page=True)
        found = self.axe.run(self.page).response["violations"]
        serious = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found if each["impact"] in SERIOUS]
        assert not serious, (name, self.screen, serious)
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} is too wide"

    def tab_to(self, selector):
        """Press Tab until an element has the focus, which has to be seen."""
        for _ in range(40):
            if self.page.evaluate("selector => document.activeElement?.matches(selector)", selector):
                outline = self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", f"the focus on {selector} is not seen"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {selector} on {self.page.title()}")

    def press(self, selector, key="Enter"):
        """Go there by Tab and press a key."""
        self.tab_to(selector)
        self.page.keyboard.press(key)

    def press_on(self, selector, key="Enter"):
        """The same, where another page follows."""
        with self.page.expect_navigation():
            self.press(selector, key)

    def until(self, condition, seconds=20):
        """Wait for a condition of the page. (Playwright's own waiting needs eval, which the policy refuses.)"""
        for _ in range(10 * seconds):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"not within {seconds} s on {self.page.title()}: {condition}")

    def title(self):
        """The first part of the title."""
        return self.page.title().split(" – ")[0]
