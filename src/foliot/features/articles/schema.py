"""How articles look in JSON, for the OpenAPI document."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ArticleWish(BaseModel):
    """One page."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=8192, examples=["https://example.com/news/1"])
    source: str = Field("", max_length=200)
    category: str = Field("", max_length=200)
    priority: int = Field(5, ge=1, le=10, description="1 is the most urgent.")


class SubmitRequest(BaseModel):
    """A job of articles."""

    model_config = ConfigDict(extra="forbid")

    articles: list[ArticleWish] = Field(min_length=1, max_length=10_000)
    ignore_cache: bool = Field(default=False, description="Fetch every page anew.")
    max_age_seconds: int | None = Field(
        None, ge=0, le=365 * 24 * 3600, description="How old a page may be that is not fetched again."
    )


class SubmittedJob(BaseModel):
    """A job that was accepted."""

    job_id: str
    status: str = Field(examples=["IN_PROGRESS"])
    total_articles: int
    new_articles: int
    cached_articles: int
    message: str


class ArticleResult(BaseModel):
    """A page that was read."""

    article_id: str
    url: str
    source: str
    category: str
    title: str | None
    content: str | None
    author: str | None
    published_at: str | None
    language: str | None
    canonical_url: str | None
    image: str | None
    scraped_at: str | None
    cached: bool
    reference_count: int = Field(description="How many jobs have wanted the page.")
    retry_count: int = Field(description="How often it was tried again, for whichever job.")
    previous_scraped_at: str | None = Field(
        description="When it was last read as it was before it changed; null when nobody has seen it change."
    )


class PreviousText(BaseModel):
    """What a page said before it changed."""

    title: str | None
    content: str | None
    scraped_at: str


class WholeArticle(ArticleResult):
    """A page that was read, and what it said before."""

    previous: PreviousText | None


class FailedArticle(BaseModel):
    """A page that could not be read, and why."""

    article_id: str
    url: str
    error: str
    code: str | None
    attempted_at: str | None
    reference_count: int
    retry_count: int


class ArticleResults(BaseModel):
    """What came of a job's articles so far."""

    job_id: str
    status: str
    total_articles: int
    successful: int
    failed: int
    cancelled: int
    results: list[ArticleResult]
    failed_articles: list[FailedArticle]


REQUESTS: list[type[BaseModel]] = [SubmitRequest]
