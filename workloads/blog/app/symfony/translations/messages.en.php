<?php

declare(strict_types=1);

return [
    'title.blog' => 'Blog',
    'title.latest' => 'Latest posts',
    'title.tagged' => 'Posts about %tag%',
    'menu.posts' => 'Posts',
    'menu.language' => 'Language',
    'post.by' => 'by %author%',
    'post.none' => 'No posts found.',
    'page.previous' => 'Previous',
    'page.next' => 'Next',
    'page.current' => '(current)',
    'sidebar.about' => 'This page is a blog’s index with pages, tags, authors and dates.',
    'footer.licence' => 'Under the %licence% licence.',
];
